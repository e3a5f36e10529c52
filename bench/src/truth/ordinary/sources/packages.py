"""Packages for pip, cargo and apt, with their indexes: `FOLDER URL ARCHITECTURE NAME...`. A server has them at URL."""

import email.utils
import gzip
import hashlib
import io
import json
import os
import random
import sys
import tarfile
import zipfile

FOLDER, URL, ARCHITECTURE = sys.argv[1:4]
NAMES = sys.argv[4:]
DICE = random.Random(1)


def write(path, data):
    path = os.path.join(FOLDER, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def filling():
    """As much as a small package has or a large one, which no archive makes smaller."""
    return DICE.randbytes(int(1_000 * 300 ** DICE.random())).hex()


def wheel(name):
    archive = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr(f"{name}.py", f"DATA = '{filling()}'\n")
        files.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        files.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        files.writestr(f"{info}/RECORD", "")
    file = f"{name}-1.0-py3-none-any.whl"
    write(f"wheels/{file}", archive.getvalue())
    write(f"simple/{name}/index.html", f'<!DOCTYPE html><a href="{URL}/wheels/{file}">{file}</a>')


def crate(name):
    archive = io.BytesIO()
    files = {
        "Cargo.toml": f'[package]\nname = "{name}"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/lib.rs": f"// {filling()}\n",
    }
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0.0/{path}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    data = archive.getvalue()
    write(f"crates/{name}-1.0.0.crate", data)
    digest = hashlib.sha256(data).hexdigest()
    line = {"name": name, "vers": "1.0.0", "deps": [], "cksum": digest, "features": {}, "yanked": False}
    write(f"index/{name[:2]}/{name[2:4]}/{name}", json.dumps(line) + "\n")


def deb(name):
    # apt compares it with the index, and does not open it.
    data = bytes.fromhex(filling())
    path = f"pool/{name}_1.0_all.deb"
    write(f"debian/{path}", data)
    return (
        f"Package: {name}\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nFilename: {path}\n"
        f"Size: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\nDescription: {name}\n"
    )


for name in NAMES:
    wheel(name)
    crate(name)
write("index/config.json", json.dumps({"dl": URL + "/crates/{crate}-{version}.crate"}))

listed = "\n".join(map(deb, NAMES)).encode()
place = f"main/binary-{ARCHITECTURE}/Packages"
sums = []
for path, data in [(place, listed), (place + ".gz", gzip.compress(listed))]:
    write(f"debian/dists/stable/{path}", data)
    sums.append(f" {hashlib.sha256(data).hexdigest()} {len(data)} {path}\n")
date = email.utils.formatdate()
head = f"Codename: stable\nDate: {date}\nComponents: main\nArchitectures: {ARCHITECTURE}\n"
write("debian/dists/stable/Release", head + "SHA256:\n" + "".join(sums))
