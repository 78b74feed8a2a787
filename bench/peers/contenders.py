"""Who takes part in which scenario."""

from __future__ import annotations

from bench.peers.celery_peers import CeleryBacklog, CeleryEta, DjangoCeleryBeat
from bench.peers.contender import Contender
from bench.peers.node_peers import BullMq, GraphileWorker, PgBoss
from bench.peers.punctual import Punctual
from bench.peers.python_peers import Apscheduler, Procrastinate, Raw

BURST, STEADY, THROUGHPUT = "burst", "steady", "throughput"
_ALL: tuple[type[Contender], ...] = (
    Punctual,
    Raw,
    BullMq,
    GraphileWorker,
    PgBoss,
    CeleryEta,
    CeleryBacklog,
    DjangoCeleryBeat,
    Procrastinate,
    Apscheduler,
)
CONTENDERS = {one.name: one for one in _ALL}
#: Beat is not in the steady load: it keeps a timetable, and is not made for a thousand a second.
SCENARIOS: dict[str, tuple[str, ...]] = {
    BURST: tuple(one.name for one in _ALL if one.timed),
    STEADY: tuple(one.name for one in _ALL if one.timed and one is not DjangoCeleryBeat),
    THROUGHPUT: (Punctual.name, Raw.name, CeleryBacklog.name),
}
