"""The packages of Debian whose crontabs are imported, by exact version and checksum, and the files.

Read by ``corpora_crontabs``. The files are named, since nothing in the name of a crontab says that
it is one.
"""

from __future__ import annotations

from bench.corpora_packages import Package

#: Name, version and architecture of a package, and below them the SHA-256 of its file.
_LISTED = """
amanda-server 1:3.5.1-11+deb12u2 amd64
  0b4683d0934a724de66a68650100ae5b843a80aeeba1186a52a2fc17424bb0a2
amavisd-new 1:2.13.0-3+deb12u1 all
  7c923e726cd5509ed56544c92bfccb84b3c28e4a0cb16a18b2627025dafa0d09
anacron 2.3-36 amd64
  8832369f9cc043e7577f0a8b18f0d90c1d3977802c174a4cb6f0f51d1cce345b
apt-cacher 1.7.29 all
  a351ed8e63e1aae04b08fec5429458f26fa6cabb18b0a9089a10fd88494861a4
apt-mirror 0.5.4-2 all
  4588c87f0c6564b692b73aa0126a8eaa9c0e837653851f3fe63fb45d089b8b6b
argus-server 2:3.0.8.2-2.2 amd64
  40ba5839e5c2bbc3107e6655dec10d9518abc52c7db5cd85195ffe76b8c4511e
atop 2.8.1-1+deb12u1 amd64
  48d18aaeaafb4513ea2a6d8741bb454d720d0331b225fa5f41211288bf99a4d5
awstats 7.8-3+deb12u2 all
  535332771e1a21b0a32e07bece483aa67ff278a0eb05399f51c8df3d1b43e089
backupninja 1.2.2-1 all
  b69bf2bfd4a5744d133f679c60a78516a934801b08e978a28cdead90f1bea28b
barman 3.4.0-1 all
  221d18113cd139cd36cf1fbc7f1eec52669ec3c0672973998a010876e2450f52
battery-stats 0.5.6-2+b2 amd64
  5b7a5b5ee2037b7ab075b72426a5990d39986efc0572dcdafc6c2b80be6afb65
boxbackup-client 0.13~~git20221201.g166b3fa-1 amd64
  1377e37b9df144f22b3d8727e66fc29df1304bfee8fdd4d85b97bdc4a99a7031
buildd 0.85.0 all
  d436f80a12f3c724842b5754a51b37f9ffe6b23a20ac468b575eee3e32b10216
burp 3.1.4-1 amd64
  1df43efbd962e6f594ffd4f31803220a6dae2f4fb4d0d222e854c8b83eba7dd0
cacti 1.2.24+ds1-1+deb12u5 all
  cac0a770929352bc03cabdff5420ce5d06159e48bab5fece12dfa5792465cdef
cedar-backup3 3.7.4-1 all
  4038c5203bbd5a0f31aed457b74e851c55ceb2b53d3d3fa407573e6d9c6d962c
certbot 2.1.0-4 all
  c39721449ddbd5c2252e92df92cf4dfcbecc97b0b8a5df0ccf6df2d48265eddc
clamav-unofficial-sigs 3.7.2-2.1 all
  74ba89c3af8a9a001a65743d2181a970bde23f96ca29d2a9c05dcb7afd93b870
config-package-dev 5.5 all
  da2c53155e98bd727fa9322754e6532eea001fdad13a22fd2fc500aa593e0855
cricket 1.0.5-22 amd64
  85757494c1d27f1d5e5745395b90d9d172adf4e4ccb0b548b2e7eb7d3730ec1b
cron-apt 0.13.0.1 all
  bc3fed9b97c5a2ff9c4608a77bb843974fda4fbba018edb65725f0197d54545e
cron-daemon-common 3.0pl1-162 all
  0976761a354ce802a2cc6ac02d7585d93ad5fda231c27572d8529a6a62272c7f
csync2 2.0-42-g83b3644-2 amd64
  159abfd96584c5665f351c2c6807873fb45437ce9b2cf7b7191399050b651d3d
debarchiver 0.11.7 all
  060438b08b0a1cb66c448b7ecf4fd5cdb1c58fc7b8c42ff13e7f5e270d4ac07f
debian-edu-config 2.12.46~deb12u1 all
  1605846cf5ac5abd17f7614c4c817506e5170bb51da048c3381a0e2c8ba6c6cb
debmake 4.4.0-1 all
  9ee7e75f0a3b5c14073f9e4278629642ab448ba5a3679de669422ef72a34ae49
desktop-autoloader 0.0.4-2 all
  6af4d9e65404a6ad1b51ae0a5666f9ee813c7b80dd1f95a7b48fb9fda7c81307
dh-make 2.202301 all
  389d3048ad93b1a17dc18bead9d057a62855d7b39331f63a7a4178caa49f5024
dirvish 1.2.1-2.1 all
  56251e301bcc7be2e47cf9c5684547b57ab67348dcfe099770365849caa36972
dkim-rotate 0.4 all
  17b85d35a0d9cdb4421ad21866cec8f9452b9b57ec0c6c2dd31d7376b7c83493
dma 0.13-1+b1 amd64
  a52af4f108058ba76a3c3188c685239051f2f5f3a15538efee97a795fbbeda57
dphys-config 20130301~current-6 all
  1c144fd8ec26ef1042bd52682abd33896b15b8768fecea4777585e166f938769
e2fsprogs 1.47.0-2+b2 amd64
  fedd424691c08ef0739729026be298e7be8236337bf8e031b3c7ec66794e6fc2
emboss-explorer 2.2.0-11 all
  d6b16cf2553e2afe6ee3a313018b9233c93a2239484988fcd61a2b9c40138457
fcheck 2.7.59-25 all
  ed2a950f1a2c962205be0c26db7811e33cd621c4bc836ba9ccc71f40624848ff
fetch-crl 3.0.22-2 all
  71585158bcce9f5be740057b545816490a61ffb62f7ae994b4dcd11d666e2c73
filetraq 0.3+nmu1 all
  bd2869c832bad3b87d26a9469e8bf958527a035380861103b650233ab000ea17
fwanalog 0.6.9-10 all
  28fc2a7123c7a1955694cc42ae6297b944c1f9d20656b2e04273c0149a63a346
ganeti 3.0.2-3 all
  5d3bb4bbbf64fc1f0114fa186c53b53d0ae948941bb58fe09cc9a093e430e568
golang-github-smallstep-certificates-dev 0.19.0-1 all
  263538dcc68a78002d7057de88376d5baa0221d1039617c53cde8eeb35cfc0a8
gsm-utils 1.10+20120414.gita5e5ae9a-2+b1 amd64
  28ab01a0996e69dcf25c873f69e459b91448dc686290551fa8685fb146e16528
gsmartcontrol 1.1.4-1 amd64
  2b44b34c75fabbc0edf411df55463c091c324ea8a4c1e4cb15b74b3c305498e6
gup 0.5.17 amd64
  048cdf51de3865dd55bff4d736015a5ffcdb4e3ed7c38429429601e58736ac75
hearse 1.5+debian1-2 all
  f6ab4592a54ec516fe62f4cb17ba91f6415fc7a67f2352e52c505f64db9f29d9
homer-api 5.0.6+dfsg2-3.2 amd64
  2e4a59b7f874893cd1c805acf5b23457a3c41c582ebb1e39210492e9db28c22d
ifgate 2.14tx8.10-27+b1 amd64
  f3d2c5739fb2213c38e31c3c79ecb1b14b2c25cc2f136eca13dc08c9ef79ecb3
ikiwiki-hosting-web 0.20220716-2+deb12u1 amd64
  d5ac1c83e24d1a6a75f9a18b6c3bb38ce9f3e024677fe9245f8e59ebb5584483
inn 1:1.7.2q-47 amd64
  3bae2ca8eb1a16026e2489c95a4dd371f7a13d5c27100b7d92b40bf3bc34cdfe
inn2 2.7.1-1+deb12u1 amd64
  a933dc630a9ef1255c25f1ebf381c091c636a7a04facd910959a8a3db8595c23
integrit 4.1-3 amd64
  0989ee70a616b9cdda8ee271f34f5299e227739a30484032a9614d9acfab1cb3
iog 1.03-6 all
  dcaf0c58f80d3263abbb8bf6723a784066a042d2549fe2060af1e86e1220a095
isbg 2.3.1-3 all
  3b49742a0dfdece59c2d6308bcb5eac5474f549ef9e8393344f0994a439f7c61
john 1.9.0-2 amd64
  dfc88bab0716087bc4a5c3263b3d0e8c470b9f9da8957ff872c3cbd8151412b8
ldap-git-backup 1.0.8-1.1 all
  c55e37cf7b0a9e805dd87408dbaef5c3a2f143ce5608486d814e883fd6a582e3
ldap2zone 0.2-12+b1 amd64
  52942f9a467d49d5051c7011e673144f26b6440d97a4eddd74636b539b2aa1de
leafnode 1.12.0-2 amd64
  81d1d8fc8d882eb10f7cf95bdf49679a12dc97b3553e0e93068ef4afe6da4e51
lexicon 3.11.7-1 all
  a2429d59ba42fb612f1d31280785fb35ecd071a8fc495702fa98ce4c6acb4bf2
liblemonldap-ng-handler-perl 2.16.1+ds-deb12u10 all
  182372f22af7166c61df01ba62f1ad1d288e259444b61ff97796a1c536d9b05b
liblemonldap-ng-portal-perl 2.16.1+ds-deb12u10 all
  15a123c6fb23896f4afda5c124ace6b7045e1f662bc88ea988a2a141fdf26e35
libmail-dmarc-perl 1.20211209-4 all
  273b930d1989689cdc2ff13ab9fab4618187bd8150b14b6a100c1e64729220c2
libschedule-cron-perl 1.05-1 all
  317adbb4f3a1c3ec9c0f8e585c5967d4e1c92853b2aa9dc0dac05d35fcc77b57
lightsquid 1.8-7 all
  402d2774d3117afef50a16eb5bf1d86f8d0cea50a9b35a9856f0e8aff2215fc5
lockout 0.2.3-7 all
  0b6e3a07edc91479273414f72cece61875501e53dd9ecd95b37372320476b89a
logcheck 1.4.2+deb12u1 all
  438d38ccc9e5bc8b4d8201196e909a4b12d1e816ba47048bd960056a47d7f48a
lyskom-server 2.1.2-16+b3 amd64
  89b3de006fa4f9d1ec8a47e68e5f85da773c2219a050595a40e27875153215ae
mailman3 3.3.8-2~deb12u2 all
  c496e0e124c73bc544f9faefff6caaed2868a5303b59e2e2a1c1a98fce99be69
mailman3-web 0+20200530-2.1 all
  d5a26856ef00c56b4f2692db94a50f24caf5dc3282cf4ff6d11c1714ac76a38f
mdadm 4.2-5 amd64
  93ac76fa9aa5b97256688e067b0a31c11aadf63321d6dbdf486e37de2338d454
mlmmj 1.3.0-4 amd64
  98d6d18bfe754dae49d34ac0c8936185b631b704f0223ab4f055643ea713d6a2
mrtg-contrib 2.17.10-5+deb12u2 all
  78e1f0c3d6be4ea5ff70c2e008b0e033e8b391d3f79195aa9ebf48881ef641a3
mtpolicyd 2.05-1.1 all
  9aaa909243e1f3b6354c1d6da98d8e5712fb75cc98af689ae6dbb0e85413239a
munin 2.0.73-1 all
  1aefa4ea816f49cfcf47863658d456eb8223ddcfa8c5a210ff7feadc79400326
munin-node 2.0.73-1 all
  18ca6717d0ba35bf019f057517ffd8ff199ab00ba6ec28981588563f2ff6129c
mythtv-status 1.0.1-6.1 all
  744da3bad81a81164aa51fb758a6ec3d9fa507b346ffb411fa264038ca40536c
nordugrid-arc-nordugridmap 6.17.0-3 all
  9cc3cb6d86cdb600a76f9ed37bd9e3524b03f4ce9068c7c8078e8cf699a0376b
ntpsec 1.2.2+dfsg1-1+deb12u1 amd64
  6ef804d1a7e37cb308a9f5b0ff67c9a981cc9cf956dadb44496110943efad9a2
ntpsec-ntpviz 1.2.2+dfsg1-1+deb12u1 amd64
  703d138c4a31beb4f10b9390633dfc2b3ae09935768ec9f3bf9890921d5ec187
oar-node 2.5.9-1+deb12u1 amd64
  e9a83b55049df473fda3e28cf64d855d3bc7ef913a9da4405abeeedb7463b3f4
oar-server 2.5.9-1+deb12u1 amd64
  6512870ae5c4da009b9d2473b23a4741874daf2e83db934d13a97f5d10693b54
obs-server 2.9.4-9 all
  fed13fdb890c94dd817e220a5870c8789617ce1d75b5ac0ceba0ca144c214801
opa-fastfabric 10.10.3.0.11-1+b1 amd64
  6a99d5c641de60ed84b760b59a88afb69962f605ca5da17fe331b4710fac8096
open-infrastructure-storage-tools 20190301-lts1-5 all
  284dd8f8c9a41a26087d8f2386ea1e289eceed72d8779c4f7d2f1afe77c27ba0
openssh-known-hosts 0.6.2-1.1 all
  c2724af5f4c013cb97531cddf553aae895390c4066b1faf4d68c5e84eea60206
painintheapt 0.20220226-2 all
  3d6a7a1285775068f45a561a3b0e316af16191efa07e9a2117d42da977bebd77
php-common 2:93 all
  91f4c80b289c3ae8fd85cb1fe607c71cd6a8572ecd4e5debed2fdbc971a7ae74
pisg 0.80~preview2-1 all
  38718055dae60d1c073cda191021893d4aa345e1b3e4b2be3060d23c39b814ee
piuparts-master 1.1.7 amd64
  1840c98b8aba47b453f61bfd96f74f2715a6c6daaca896f41fefc063a0d515c4
piuparts-slave 1.1.7 all
  911d1433707cf297372b5759811d6a7d153cd3fc6a44205a89ebf70773131144
planetfilter 0.10.0-3 all
  ab9183b439309aea8dfe99fb3cf34a9ccb9058aa0417c0c0a01379b98b65b8ca
pnopaste 1.8-3 all
  db978d8fd8e9dd1b4584465d8c74107021c8e11ae89e718c3995eeee64bf71b1
puppet-module-puppetlabs-cron-core 1.1.0+dfsg1-1 all
  7c4d0261bb1e0f651db3f19f72ad93930ef099ffa8f54902a4febfce71046df7
python3-django-hyperkitty 1.3.7-1 all
  e8b71078aa1e7dc97ecdf34f545eefa5d996fb7b768595e89b783602b1247066
rancid 3.13-2+b1 amd64
  fa81fadb80554067a084637bd6d05b5af8956248f4dde7fa3c82e30a9e24c193
recap 2.1.0-1 all
  ec54a0dc3987cadd0bdea2bb8d43efec321bd85088b0595b6fbd60b2087bd91e
roundcube-core 1.6.5+dfsg-1+deb12u13 all
  254cf2e046feebc92c91301c826595cd122283c30f5695723c80c0b7f6841d9e
routino-www 3.3.3-2 all
  e37ca8b9bf16f5e8daef7b716ace500e335293e20d765e5c9b556cd2dd4a2c67
rsnapshot 1.4.5-1 all
  2913d1b96ce474abc512dd3792a73405a65d0389d23b5d80208fb0a420e38394
sa-exim 4.2.1-20+b1 amd64
  74bd7c36645316bb46361be8f98956d70fa5b26bd394f73df17351b4761330cd
sanoid 2.1.0-1.1 all
  68525ac96832e03f76a6c5ca99812654bb0f96b2c00e94fe764f34ab64b1ae3f
sbws 1.5.2-1.1 all
  053608e98d85d10eca4731892609f8f38e9486db6352bf38e1a442b1dea023a9
shutdown-at-night 0.24 all
  d344f02f5b6558fc74eb556fd6d4d7f214f63468ce4bc7acfe49e5e12cf05c81
sks 1.1.6+git20210302.c3ba6d5a-4+b2 amd64
  061f6708400c0098cb9c0ce41a1c71fdf34a1ac6bc4db07b1f2b781631f75282
sogo 5.8.0-2+deb12u4 amd64
  7838091b7374593fa4d072fbe7f8df14924e7b5d9b704c03b2d2ea64ff53153a
sphinxsearch 2.2.11-8+b1 amd64
  3cc52e9d5dd49c764afa564ae7c4df2c5afb2ef7a929ec207da2ecc589e905ad
sqwebmail 6.0.5+1.0.16-3+b6 amd64
  196bb4c64fd8fff2424230e4cdbede913b8573444df204863b4a6a7d4d17aa49
sreview-detect 0.9.0-1 all
  980b28781051d93a546fa547c6645c72017616cf53a2d2b14ec91af8ca066720
swift-drive-audit 2.30.1-0+deb12u3 all
  ffb85d2efeb7c740ea7d1820cc92d37301c6e3d89d4616774c8d293795e438ce
swift-object 2.30.1-0+deb12u3 all
  8b99335f378a099054bdb9d9876ab13b55f82fefbf24d3cb4255052d2bf0734b
sxid 4.20130802-7 amd64
  fffbdb037880c28606db1327abd54c36b760dd9e4c80e74829c95e2de3ffb6a2
sysstat 12.6.1-1 amd64
  b9dbb951ab04ef779225907b29cc29be59ecfa7c4bf9cd97ea1ae51a15091648
systemd-cron 1.15.19-5 amd64
  b3df1202f2c1cde3be84cb57808843fca736870765a1d5a966eb2b2a32cb6eb0
systraq 20201231-1 all
  6ea8d16c910e155b2651e6f95c195633abf428c3e73f13a58dccfbf6d18dc37e
tiger 1:3.2.4~rc1-3.2 amd64
  344f1de61bc81e377e8d9d92ae1399c442de807d12f18bab70b6ea6f8a9623e9
tua 4.3-14 amd64
  59f124b87015f489f3a9bd5b1726eba6110a25afaa329cdcd3fdf158ddea9211
tuptime 5.2.2 all
  da621a6bd8e8c437062f77369b9fea5761a63bc8ff5847e1764d3c1355b49592
twatch 0.0.7-1.1 all
  c30d1a1ff94ed82c402b6e046a070cf123c9808c17d0eefb366c68e4909e6b0b
uucp 1.07-27+b2 amd64
  eeae4e3aa1f7125c068ac41e1e64601af57cc663b00f349ae36dcd803367033f
zfs-fuse 0.7.0-25+b1 amd64
  e65cb238f4e2c0b6e7ea012ac4fa8f29fb31e149cfcbdc12b58f0aa0d260b862
"""
#: How the paths of crontabs end, in lower case.
PATHS = tuple(
    """
/etc/anacrontab
/etc/cron.d/amavisd-new
/etc/cron.d/anacron
/etc/cron.d/apt-cacher
/etc/cron.d/apt-mirror
/etc/cron.d/atop
/etc/cron.d/awstats
/etc/cron.d/backupninja
/etc/cron.d/barman
/etc/cron.d/battery-stats
/etc/cron.d/boxbackup-client
/etc/cron.d/buildd
/etc/cron.d/burp
/etc/cron.d/cacti
/etc/cron.d/cedar-backup3
/etc/cron.d/ceph-info
/etc/cron.d/cephfs-snap
/etc/cron.d/certbot
/etc/cron.d/clamav-unofficial-sigs
/etc/cron.d/cleanup_scm_cache
/etc/cron.d/cricket
/etc/cron.d/cron-apt
/etc/cron.d/csync2
/etc/cron.d/debarchiver
/etc/cron.d/debian-edu-config
/etc/cron.d/desktop-autoloader
/etc/cron.d/dirvish
/etc/cron.d/dkim-rotate
/etc/cron.d/dma
/etc/cron.d/dphys-config
/etc/cron.d/e2scrub_all
/etc/cron.d/emboss-explorer
/etc/cron.d/fcheck
/etc/cron.d/fetch-crl
/etc/cron.d/filetraq
/etc/cron.d/fwanalog
/etc/cron.d/ganeti
/etc/cron.d/greylistclean
/etc/cron.d/gsm-utils
/etc/cron.d/gup
/etc/cron.d/hearse
/etc/cron.d/homer
/etc/cron.d/ikiwiki-hosting-web
/etc/cron.d/inn
/etc/cron.d/inn2
/etc/cron.d/iog
/etc/cron.d/john
/etc/cron.d/ldap-git-backup
/etc/cron.d/ldap2zone
/etc/cron.d/leafnode
/etc/cron.d/liblemonldap-ng-handler-perl
/etc/cron.d/liblemonldap-ng-portal-perl
/etc/cron.d/lightsquid
/etc/cron.d/lockout
/etc/cron.d/logcheck
/etc/cron.d/lyskom-server
/etc/cron.d/mailman3
/etc/cron.d/mailman3-web
/etc/cron.d/mdadm
/etc/cron.d/mlmmj
/etc/cron.d/mtpolicyd
/etc/cron.d/munin
/etc/cron.d/munin-node
/etc/cron.d/mythtv-status
/etc/cron.d/nordugridmap
/etc/cron.d/ntpsec
/etc/cron.d/ntpsec-ntpviz
/etc/cron.d/oar-server
/etc/cron.d/opa-cablehealth
/etc/cron.d/openssh-known-hosts
/etc/cron.d/painintheapt
/etc/cron.d/php
/etc/cron.d/planetfilter
/etc/cron.d/pnopaste
/etc/cron.d/rancid
/etc/cron.d/recap
/etc/cron.d/roundcube-core
/etc/cron.d/routino-www
/etc/cron.d/rsnapshot
/etc/cron.d/sanoid
/etc/cron.d/sbws
/etc/cron.d/shutdown-at-night
/etc/cron.d/sogo
/etc/cron.d/sphinxsearch
/etc/cron.d/sqwebmail
/etc/cron.d/sreview-detect
/etc/cron.d/swift-drive-audit
/etc/cron.d/swift-object
/etc/cron.d/sysstat
/etc/cron.d/systraq
/etc/cron.d/tiger
/etc/cron.d/tua
/etc/cron.d/tuptime
/etc/cron.d/uucp
/etc/crontab
/usr/share/debhelper/dh_make/debian/package.cron.d.ex
/usr/share/debmake/extra3/package.cron.d.ex
/usr/share/doc/amanda-server/examples/crontab.amanda
/usr/share/doc/argus-server/examples/support/system/crontab
/usr/share/doc/config-package-dev/examples/cdbs/debathena-cron-example-1.0/debian/debathena-cron-example.cron.d
/usr/share/doc/config-package-dev/examples/debhelper/debathena-cron-example-1.0/debian/debathena-cron-example.cron.d
/usr/share/doc/debarchiver/examples/debarchiver.cron.d
/usr/share/doc/dkim-rotate/examples/crontab
/usr/share/doc/dphys-config/examples/cron.d.example
/usr/share/doc/golang-github-smallstep-certificates-dev/examples/docker/renewer/crontab
/usr/share/doc/gsm-utils/examples/gsm-utils.cron.d
/usr/share/doc/gsmartcontrol/contrib/cron-based_noadmin/crontab.example
/usr/share/doc/ifgate/examples/crontab.news
/usr/share/doc/integrit/examples/crontab
/usr/share/doc/isbg/examples/crontab.example
/usr/share/doc/lexicon/examples/crontab
/usr/share/doc/liblemonldap-ng-handler-perl/examples/scripts/purgeLocalCache.cron.d
/usr/share/doc/liblemonldap-ng-handler-perl/examples/scripts/purgelocalcache.cron.d
/usr/share/doc/libschedule-cron-perl/examples/cron.tab
/usr/share/doc/mrtg-contrib/examples/contrib/mrtg-archiver-script/to-crontab
/usr/share/doc/pisg/examples/scripts/crontab
/usr/share/doc/piuparts-master/examples/crontab-master
/usr/share/doc/piuparts-slave/examples/crontab-slave
/usr/share/doc/python3-django-hyperkitty/examples/crontab
/usr/share/doc/sks/sampleconfig/crontab.sample
/usr/share/doc/sxid/examples/sxid.cron
/usr/share/doc/sysstat/examples/crontab
/usr/share/doc/twatch/examples/crontab
/usr/share/doc/zfs-fuse/zfs-fuse.automated.scrub.cron.d
/usr/share/oar/oar-node/cron.d/oar-node
/usr/share/oar/oar-server/cron.d/oar-server
/usr/share/perl5/auto/share/dist/mail-dmarc/mail-dmarc.cron
/usr/share/puppet/modules.available/puppetlabs-cron-core/spec/fixtures/integration/provider/cron/crontab/crontab_user1
/usr/share/puppet/modules.available/puppetlabs-cron-core/spec/fixtures/integration/provider/cron/crontab/crontab_user2
/usr/share/puppet/modules.available/puppetlabs-cron-core/spec/fixtures/integration/provider/cron/crontab/crontab_user3
/usr/share/puppet/modules.available/puppetlabs-cron-core/spec/fixtures/unit/provider/cron/filetype/crontab_output
""".split()
)


def _packages() -> tuple[Package, ...]:
    words = iter(_LISTED.split())
    return tuple(_package(*row) for row in zip(words, words, words, words, strict=True))


def _package(name: str, version: str, architecture: str, sha256: str) -> Package:
    file = f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
    return Package("Debian", name, version, file, sha256)


PACKAGES = _packages()
