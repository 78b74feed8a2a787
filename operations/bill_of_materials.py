"""The bill of materials of an installation: every locked package with its hashes, as CycloneDX.

Made from the lock files, so that it names what an install takes and nothing that happens to be
there. Run as a program, it prints the document: ``make sbom``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

_ROOT = Path(__file__).resolve().parents[1]
#: Of the product: what runs, and the extras. Tools of tests are not shipped.
LOCK_FILES = ("requirements.lock", "requirements-oidc.lock", "requirements-otel.lock")
_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>[^\s;\\]+)(?: *; *(?P<marker>[^\\]+))?"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Locked:
    """A locked package; ``marker`` says on which machines it is installed, empty on all."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Return the package's name as other tools look it up."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> Iterator[Locked]:
    """Yield the packages of a lock file; raise ValueError for a line that is none."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        pin = _PIN.match(stripped)
        if pin is None:
            raise ValueError(f"{stripped[:80]!r} is no locked package")
        name = re.sub(r"[-_.]+", "-", pin["name"]).lower()
        marker = (pin["marker"] or "").split(" --hash=")[0].strip()
        yield Locked(name, pin["version"], marker, tuple(_HASH.findall(stripped)))


def bill_of_materials(packages: Iterable[Locked], version: str) -> dict[str, Any]:
    """Return the CycloneDX document; the same packages give the same document."""
    components = [_component(one) for one in sorted(packages, key=lambda one: one.purl)]
    told = json.dumps(components, sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, told)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "punctual",
                "name": "punctual",
                "version": version,
            }
        },
        "components": components,
        "dependencies": [
            {"ref": "punctual", "dependsOn": [one["bom-ref"] for one in components]},
        ],
    }


def _component(package: Locked) -> dict[str, Any]:
    properties = [{"name": "punctual:sha256", "value": one} for one in package.hashes]
    if package.marker:
        properties.append({"name": "punctual:marker", "value": package.marker})
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        # One of these files is installed; which one depends on the machine.
        "properties": properties,
    }


def product_version() -> str:
    """Return the version of the newest release in CHANGELOG.md; 0 where there is none."""
    found = re.search(
        r"^## \[?v?(\d[\w.]*)", (_ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    return found[1] if found else "0"


def main() -> None:
    """Print the document."""
    texts = [(_ROOT / name).read_text(encoding="utf-8") for name in LOCK_FILES]
    packages = [one for text in texts for one in read_lock(text)]
    json.dump(bill_of_materials(packages, product_version()), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
