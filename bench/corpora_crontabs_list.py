"""The packages of Debian whose crontabs are imported, by exact version and checksum, and the files.

Read by ``corpora_crontabs``. The files are named, since nothing in the name of a crontab says that
it is one.
"""

from __future__ import annotations

from bench.corpora_packages import Package

#: Name and version of a package, and below it its file and the SHA-256 of the file.
_LISTED = """
amanda-server 1:3.5.1-11+deb12u2
  amanda-server_1%3a3.5.1-11+deb12u2_amd64.deb
  0b4683d0934a724de66a68650100ae5b843a80aeeba1186a52a2fc17424bb0a2
amavisd-new 1:2.13.0-3+deb12u1
  amavisd-new_1%3a2.13.0-3+deb12u1_all.deb
  7c923e726cd5509ed56544c92bfccb84b3c28e4a0cb16a18b2627025dafa0d09
anacron 2.3-36
  anacron_2.3-36_amd64.deb
  8832369f9cc043e7577f0a8b18f0d90c1d3977802c174a4cb6f0f51d1cce345b
apt-mirror 0.5.4-2
  apt-mirror_0.5.4-2_all.deb
  4588c87f0c6564b692b73aa0126a8eaa9c0e837653851f3fe63fb45d089b8b6b
atop 2.8.1-1+deb12u1
  atop_2.8.1-1+deb12u1_amd64.deb
  48d18aaeaafb4513ea2a6d8741bb454d720d0331b225fa5f41211288bf99a4d5
awstats 7.8-3+deb12u2
  awstats_7.8-3+deb12u2_all.deb
  535332771e1a21b0a32e07bece483aa67ff278a0eb05399f51c8df3d1b43e089
backupninja 1.2.2-1
  backupninja_1.2.2-1_all.deb
  b69bf2bfd4a5744d133f679c60a78516a934801b08e978a28cdead90f1bea28b
barman 3.4.0-1
  barman_3.4.0-1_all.deb
  221d18113cd139cd36cf1fbc7f1eec52669ec3c0672973998a010876e2450f52
buildd 0.85.0
  buildd_0.85.0_all.deb
  d436f80a12f3c724842b5754a51b37f9ffe6b23a20ac468b575eee3e32b10216
burp 3.1.4-1
  burp_3.1.4-1_amd64.deb
  1df43efbd962e6f594ffd4f31803220a6dae2f4fb4d0d222e854c8b83eba7dd0
cacti 1.2.24+ds1-1+deb12u5
  cacti_1.2.24+ds1-1+deb12u5_all.deb
  cac0a770929352bc03cabdff5420ce5d06159e48bab5fece12dfa5792465cdef
certbot 2.1.0-4
  certbot_2.1.0-4_all.deb
  c39721449ddbd5c2252e92df92cf4dfcbecc97b0b8a5df0ccf6df2d48265eddc
clamav-unofficial-sigs 3.7.2-2.1
  clamav-unofficial-sigs_3.7.2-2.1_all.deb
  74ba89c3af8a9a001a65743d2181a970bde23f96ca29d2a9c05dcb7afd93b870
cricket 1.0.5-22
  cricket_1.0.5-22_amd64.deb
  85757494c1d27f1d5e5745395b90d9d172adf4e4ccb0b548b2e7eb7d3730ec1b
cron-apt 0.13.0.1
  cron-apt_0.13.0.1_all.deb
  bc3fed9b97c5a2ff9c4608a77bb843974fda4fbba018edb65725f0197d54545e
cron-daemon-common 3.0pl1-162
  cron-daemon-common_3.0pl1-162_all.deb
  0976761a354ce802a2cc6ac02d7585d93ad5fda231c27572d8529a6a62272c7f
debarchiver 0.11.7
  debarchiver_0.11.7_all.deb
  060438b08b0a1cb66c448b7ecf4fd5cdb1c58fc7b8c42ff13e7f5e270d4ac07f
debian-edu-config 2.12.46~deb12u1
  debian-edu-config_2.12.46~deb12u1_all.deb
  1605846cf5ac5abd17f7614c4c817506e5170bb51da048c3381a0e2c8ba6c6cb
dirvish 1.2.1-2.1
  dirvish_1.2.1-2.1_all.deb
  56251e301bcc7be2e47cf9c5684547b57ab67348dcfe099770365849caa36972
dma 0.13-1+b1
  dma_0.13-1+b1_amd64.deb
  a52af4f108058ba76a3c3188c685239051f2f5f3a15538efee97a795fbbeda57
e2fsprogs 1.47.0-2+b2
  e2fsprogs_1.47.0-2+b2_amd64.deb
  fedd424691c08ef0739729026be298e7be8236337bf8e031b3c7ec66794e6fc2
fetch-crl 3.0.22-2
  fetch-crl_3.0.22-2_all.deb
  71585158bcce9f5be740057b545816490a61ffb62f7ae994b4dcd11d666e2c73
ganeti 3.0.2-3
  ganeti_3.0.2-3_all.deb
  5d3bb4bbbf64fc1f0114fa186c53b53d0ae948941bb58fe09cc9a093e430e568
inn2 2.7.1-1+deb12u1
  inn2_2.7.1-1+deb12u1_amd64.deb
  a933dc630a9ef1255c25f1ebf381c091c636a7a04facd910959a8a3db8595c23
inn 1:1.7.2q-47
  inn_1%3a1.7.2q-47_amd64.deb
  3bae2ca8eb1a16026e2489c95a4dd371f7a13d5c27100b7d92b40bf3bc34cdfe
integrit 4.1-3
  integrit_4.1-3_amd64.deb
  0989ee70a616b9cdda8ee271f34f5299e227739a30484032a9614d9acfab1cb3
leafnode 1.12.0-2
  leafnode_1.12.0-2_amd64.deb
  81d1d8fc8d882eb10f7cf95bdf49679a12dc97b3553e0e93068ef4afe6da4e51
liblemonldap-ng-handler-perl 2.16.1+ds-deb12u10
  liblemonldap-ng-handler-perl_2.16.1+ds-deb12u10_all.deb
  182372f22af7166c61df01ba62f1ad1d288e259444b61ff97796a1c536d9b05b
liblemonldap-ng-portal-perl 2.16.1+ds-deb12u10
  liblemonldap-ng-portal-perl_2.16.1+ds-deb12u10_all.deb
  15a123c6fb23896f4afda5c124ace6b7045e1f662bc88ea988a2a141fdf26e35
lockout 0.2.3-7
  lockout_0.2.3-7_all.deb
  0b6e3a07edc91479273414f72cece61875501e53dd9ecd95b37372320476b89a
logcheck 1.4.2+deb12u1
  logcheck_1.4.2+deb12u1_all.deb
  438d38ccc9e5bc8b4d8201196e909a4b12d1e816ba47048bd960056a47d7f48a
lyskom-server 2.1.2-16+b3
  lyskom-server_2.1.2-16+b3_amd64.deb
  89b3de006fa4f9d1ec8a47e68e5f85da773c2219a050595a40e27875153215ae
mailman3-web 0+20200530-2.1
  mailman3-web_0+20200530-2.1_all.deb
  d5a26856ef00c56b4f2692db94a50f24caf5dc3282cf4ff6d11c1714ac76a38f
mailman3 3.3.8-2~deb12u2
  mailman3_3.3.8-2~deb12u2_all.deb
  c496e0e124c73bc544f9faefff6caaed2868a5303b59e2e2a1c1a98fce99be69
mdadm 4.2-5
  mdadm_4.2-5_amd64.deb
  93ac76fa9aa5b97256688e067b0a31c11aadf63321d6dbdf486e37de2338d454
mlmmj 1.3.0-4
  mlmmj_1.3.0-4_amd64.deb
  98d6d18bfe754dae49d34ac0c8936185b631b704f0223ab4f055643ea713d6a2
munin-node 2.0.73-1
  munin-node_2.0.73-1_all.deb
  18ca6717d0ba35bf019f057517ffd8ff199ab00ba6ec28981588563f2ff6129c
munin 2.0.73-1
  munin_2.0.73-1_all.deb
  1aefa4ea816f49cfcf47863658d456eb8223ddcfa8c5a210ff7feadc79400326
nordugrid-arc-nordugridmap 6.17.0-3
  nordugrid-arc-nordugridmap_6.17.0-3_all.deb
  9cc3cb6d86cdb600a76f9ed37bd9e3524b03f4ce9068c7c8078e8cf699a0376b
ntpsec-ntpviz 1.2.2+dfsg1-1+deb12u1
  ntpsec-ntpviz_1.2.2+dfsg1-1+deb12u1_amd64.deb
  703d138c4a31beb4f10b9390633dfc2b3ae09935768ec9f3bf9890921d5ec187
ntpsec 1.2.2+dfsg1-1+deb12u1
  ntpsec_1.2.2+dfsg1-1+deb12u1_amd64.deb
  6ef804d1a7e37cb308a9f5b0ff67c9a981cc9cf956dadb44496110943efad9a2
oar-server 2.5.9-1+deb12u1
  oar-server_2.5.9-1+deb12u1_amd64.deb
  6512870ae5c4da009b9d2473b23a4741874daf2e83db934d13a97f5d10693b54
openssh-known-hosts 0.6.2-1.1
  openssh-known-hosts_0.6.2-1.1_all.deb
  c2724af5f4c013cb97531cddf553aae895390c4066b1faf4d68c5e84eea60206
painintheapt 0.20220226-2
  painintheapt_0.20220226-2_all.deb
  3d6a7a1285775068f45a561a3b0e316af16191efa07e9a2117d42da977bebd77
php-common 2:93
  php-common_2%3a93_all.deb
  91f4c80b289c3ae8fd85cb1fe607c71cd6a8572ecd4e5debed2fdbc971a7ae74
rancid 3.13-2+b1
  rancid_3.13-2+b1_amd64.deb
  fa81fadb80554067a084637bd6d05b5af8956248f4dde7fa3c82e30a9e24c193
roundcube-core 1.6.5+dfsg-1+deb12u13
  roundcube-core_1.6.5+dfsg-1+deb12u13_all.deb
  254cf2e046feebc92c91301c826595cd122283c30f5695723c80c0b7f6841d9e
rsnapshot 1.4.5-1
  rsnapshot_1.4.5-1_all.deb
  2913d1b96ce474abc512dd3792a73405a65d0389d23b5d80208fb0a420e38394
sa-exim 4.2.1-20+b1
  sa-exim_4.2.1-20+b1_amd64.deb
  74bd7c36645316bb46361be8f98956d70fa5b26bd394f73df17351b4761330cd
shutdown-at-night 0.24
  shutdown-at-night_0.24_all.deb
  d344f02f5b6558fc74eb556fd6d4d7f214f63468ce4bc7acfe49e5e12cf05c81
sogo 5.8.0-2+deb12u4
  sogo_5.8.0-2+deb12u4_amd64.deb
  7838091b7374593fa4d072fbe7f8df14924e7b5d9b704c03b2d2ea64ff53153a
sqwebmail 6.0.5+1.0.16-3+b6
  sqwebmail_6.0.5+1.0.16-3+b6_amd64.deb
  196bb4c64fd8fff2424230e4cdbede913b8573444df204863b4a6a7d4d17aa49
sysstat 12.6.1-1
  sysstat_12.6.1-1_amd64.deb
  b9dbb951ab04ef779225907b29cc29be59ecfa7c4bf9cd97ea1ae51a15091648
systemd-cron 1.15.19-5
  systemd-cron_1.15.19-5_amd64.deb
  b3df1202f2c1cde3be84cb57808843fca736870765a1d5a966eb2b2a32cb6eb0
tiger 1:3.2.4~rc1-3.2
  tiger_1%3a3.2.4~rc1-3.2_amd64.deb
  344f1de61bc81e377e8d9d92ae1399c442de807d12f18bab70b6ea6f8a9623e9
tua 4.3-14
  tua_4.3-14_amd64.deb
  59f124b87015f489f3a9bd5b1726eba6110a25afaa329cdcd3fdf158ddea9211
uucp 1.07-27+b2
  uucp_1.07-27+b2_amd64.deb
  eeae4e3aa1f7125c068ac41e1e64601af57cc663b00f349ae36dcd803367033f
"""
#: How the paths of crontabs end.
PATHS = tuple(
    """
/etc/anacrontab
/etc/cron.d/amavisd-new
/etc/cron.d/anacron
/etc/cron.d/apt-mirror
/etc/cron.d/atop
/etc/cron.d/awstats
/etc/cron.d/backupninja
/etc/cron.d/barman
/etc/cron.d/buildd
/etc/cron.d/burp
/etc/cron.d/cacti
/etc/cron.d/certbot
/etc/cron.d/clamav-unofficial-sigs
/etc/cron.d/cricket
/etc/cron.d/cron-apt
/etc/cron.d/debarchiver
/etc/cron.d/debian-edu-config
/etc/cron.d/dirvish
/etc/cron.d/dma
/etc/cron.d/e2scrub_all
/etc/cron.d/fetch-crl
/etc/cron.d/ganeti
/etc/cron.d/greylistclean
/etc/cron.d/inn
/etc/cron.d/inn2
/etc/cron.d/leafnode
/etc/cron.d/liblemonldap-ng-handler-perl
/etc/cron.d/liblemonldap-ng-portal-perl
/etc/cron.d/lockout
/etc/cron.d/logcheck
/etc/cron.d/lyskom-server
/etc/cron.d/mailman3
/etc/cron.d/mailman3-web
/etc/cron.d/mdadm
/etc/cron.d/mlmmj
/etc/cron.d/munin
/etc/cron.d/munin-node
/etc/cron.d/nordugridmap
/etc/cron.d/ntpsec
/etc/cron.d/ntpsec-ntpviz
/etc/cron.d/oar-server
/etc/cron.d/openssh-known-hosts
/etc/cron.d/painintheapt
/etc/cron.d/php
/etc/cron.d/rancid
/etc/cron.d/roundcube-core
/etc/cron.d/rsnapshot
/etc/cron.d/shutdown-at-night
/etc/cron.d/sogo
/etc/cron.d/sqwebmail
/etc/cron.d/sysstat
/etc/cron.d/tiger
/etc/cron.d/tua
/etc/cron.d/uucp
/etc/crontab
/usr/share/doc/amanda-server/examples/crontab.amanda
/usr/share/doc/debarchiver/examples/debarchiver.cron.d
/usr/share/doc/integrit/examples/crontab
/usr/share/doc/liblemonldap-ng-handler-perl/examples/scripts/purgeLocalCache.cron.d
/usr/share/doc/sysstat/examples/crontab
/usr/share/oar/oar-server/cron.d/oar-server
""".split()
)


def _packages() -> tuple[Package, ...]:
    words = iter(_LISTED.split())
    return tuple(Package("Debian", *row) for row in zip(words, words, words, words, strict=True))


PACKAGES = _packages()
