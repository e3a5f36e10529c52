"""Stores and captures in S3, which moto's server stands for."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ackwise
import fsspec
import polars
import pyarrow
import pytest
from ackwise import _place
from ackwise._executor import threads
from dask.config import set as configured
from distributed import Client, LocalCluster
from moto.server import ThreadedMotoServer
from test_sweep import GRID, SWEEP


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A server on loopback, which each process finds by its environment."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "test")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            environment.delenv(name, raising=False)
        yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("_", "-").strip("-")[:63]
    files().mkdir(name)
    return f"s3://{name}"


@pytest.fixture(scope="module")
def pool(endpoint: str) -> Iterator[concurrent.futures.Executor]:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        yield pool


def files() -> Any:
    return fsspec.filesystem("s3", use_listings_cache=False)


def contents(url: str) -> dict[str, str]:
    """The objects there, each with when it was written and what its content is."""
    found = [it for it in files().ls(url, detail=True) if it["type"] == "file"]
    return {it["name"].split("/")[-1]: f"{it['LastModified']} {it['ETag']}" for it in found}


def test_a_sweep_in_objects_is_that_of_a_directory_and_is_resumed(
    bucket: str, pool: concurrent.futures.Executor, tmp_path: Path
) -> None:
    url = f"{bucket}/sweeps/a"
    local = ackwise.sweep(SWEEP, grid=GRID, seeds=4, store=tmp_path / "store")
    there = ackwise.sweep(SWEEP, grid=GRID, seeds=4, executor=pool, store=url)
    assert there.to_dict() == local.to_dict()
    first = contents(url)
    assert first.keys() == {it.name for it in (tmp_path / "store").iterdir()}, "no probe is left"
    files().pipe_file(f"{url}/notes/on-it.txt", b"what is below is not of the store")
    # A process without a pool, of whose chunks two are gone.
    gone = sorted(first)[1:3]
    for name in gone:
        files().rm_file(f"{url}/{name}")
    assert ackwise.sweep(SWEEP, grid=GRID, seeds=4, store=url).to_dict() == local.to_dict()
    second = contents(url)
    assert second.keys() == first.keys()
    assert {name for name in first if first[name].split()[-1] != second[name].split()[-1]} == set()
    rest = first.keys() - set(gone)
    assert {name: first[name] for name in rest} == {name: second[name] for name in rest}, "what is there stays"


def test_a_store_of_objects_can_be_queried_and_copied(bucket: str, tmp_path: Path) -> None:
    url, copy = f"{bucket}/sweep", tmp_path / "copy"
    result = ackwise.sweep(SWEEP, grid=GRID, seeds=2, store=f"{url}/")
    copy.mkdir()
    for name in contents(url):
        files().get_file(f"{url}/{name}", copy / name)
    assert polars.read_parquet(copy / "*.parquet").height == len(result)
    # It is the store of the command.
    before = {it.name: it.stat().st_mtime_ns for it in copy.iterdir()}
    assert ackwise.sweep(SWEEP, grid=GRID, seeds=2, store=copy).to_dict() == result.to_dict()
    assert {it.name: it.stat().st_mtime_ns for it in copy.iterdir()} == before


def test_processes_that_begin_at_once_follow_one_plan(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{bucket}/sweep"
    both = threading.Barrier(2, timeout=60)
    names = _place._Mirror.names
    seen = threading.local()

    def names_at_once(mirror: Any) -> list[str]:
        found = names(mirror)
        if not hasattr(seen, "first"):
            seen.first = True
            if threading.current_thread().name.startswith("caller"):
                both.wait()
        return found

    monkeypatch.setattr(_place._Mirror, "names", names_at_once)
    published: list[bool] = []
    publish = _place._Mirror.publish

    def publish_and_tell(mirror: Any) -> bool:
        is_first = publish(mirror)
        if threading.current_thread().name.startswith("caller"):
            published.append(is_first)
        return is_first

    monkeypatch.setattr(_place._Mirror, "publish", publish_and_tell)
    results: list[dict[str, Any]] = []

    def call() -> None:
        results.append(ackwise.sweep(SWEEP, grid=GRID, seeds=4, store=url).to_dict())

    callers = [threading.Thread(target=call, name=f"caller {number}") for number in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(published) == [False, True], "one plan"
    assert results[0] == results[1] == ackwise.sweep(SWEEP, grid=GRID, seeds=4).to_dict()


def test_another_experiment_or_no_store_is_refused_by_its_url(bucket: str) -> None:
    ackwise.sweep(SWEEP, seeds=1, store=f"{bucket}/sweep")
    with pytest.raises(ackwise.ExperimentError) as refused:
        ackwise.sweep({**SWEEP, "duration": "7 s"}, seeds=1, store=f"{bucket}/sweep")
    assert f"{bucket}/sweep" in str(refused.value) and "duration" in str(refused.value)
    files().pipe_file(f"{bucket}/thesis/thesis.tex", b"\\documentclass")
    with pytest.raises(ackwise.ExperimentError) as refused:
        ackwise.sweep(SWEEP, seeds=1, store=f"{bucket}/thesis")
    assert f"{bucket}/thesis" in str(refused.value) and "thesis.tex" in str(refused.value)
    assert contents(f"{bucket}/thesis").keys() == {"thesis.tex"}


def test_what_cannot_be_reached_is_one_line(endpoint: str, capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="s3://no-such-bucket/x: .*bucket does not exist") as missing:
        ackwise.sweep(SWEEP, seeds=1, store="s3://no-such-bucket/x")
    assert "\n" not in str(missing.value)
    with pytest.raises(ackwise.Error, match=r"cannot use nope://x: Protocol not known: nope .*ackwise\[s3\]"):
        ackwise.sweep(SWEEP, seeds=1, store="nope://x")
    with pytest.raises(ackwise.Error, match="secrets are an object"):
        ackwise.explain_many([capture], keys="s3://b/keys.log")


def test_captures_and_their_exchanges_are_objects(
    bucket: str, pool: concurrent.futures.Executor, captures: dict[str, str]
) -> None:
    urls = [f"{bucket}/captures/{name}" for name in ("client.pcap", "server.pcap", "text.pcap", "missing.pcap")]
    for url, end in zip(urls, captures.values()):
        files().put_file(end, url)
    files().pipe_file(urls[2], b"no capture")
    own = [ackwise.explain(end) for end in captures.values()]
    store = f"{bucket}/explained"
    for executor, where in ((pool, None), (pool, store), (None, store)):
        many = ackwise.explain_many(urls, executor=executor, store=where)
        rows = pyarrow.table(many).to_pylist()
        for url, report in zip(urls, own):
            assert [row for row in rows if row["path"] == url] == [
                {"path": url, **row} for row in pyarrow.table(report.exchanges).to_pylist()
            ]
        failed = pyarrow.table(many.failed).to_pylist()
        assert [row["path"] for row in failed] == urls[2:]
        assert all(row["path"] in row["error"] and "/tmp" not in row["error"] for row in failed), failed
    before = contents(store)
    assert len(before) == 3, "a plan, and the exchanges of two captures"
    assert _place.Object(urls[0]).stamp()[3] == files().info(urls[0])["ETag"].strip('"')
    # Another content of the same size.
    content = bytearray(Path(captures["client"]).read_bytes())
    content[-1] ^= 1
    files().pipe_file(urls[0], bytes(content))
    (replaced,) = [name for name in before if name != "plan.json" and name not in contents_after(urls, store)]
    # A worker has ended between the two.
    files().pipe_file(f"{store}/{replaced}", b"")
    assert replaced not in contents_after(urls, store)


def contents_after(urls: list[str], store: str) -> dict[str, str]:
    ackwise.explain_many(urls, store=store)
    after = contents(store)
    assert len(after) == 3, "the exchanges of one are replaced"
    return after


def test_workers_of_dask_fill_a_store_of_objects(bucket: str) -> None:
    options: dict[str, Any] = {"dashboard_address": ":0"}
    patient = configured({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with patient, LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster:
        with Client(cluster) as client:
            executor = client.get_executor(pure=False)
            there = ackwise.sweep(SWEEP, grid=GRID, seeds=4, executor=executor, store=f"{bucket}/sweep")
    assert there.to_dict() == ackwise.sweep(SWEEP, grid=GRID, seeds=4).to_dict()


def test_a_request_that_fails_is_tried_again_and_leaves_nothing_by_half(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{bucket}/sweep"
    create, fails = _place._Mirror._create, iter([True, False, True])

    def create_or_fail(mirror: Any, name: str, content: bytes) -> bool:
        if name.startswith("chunk") and next(fails, False):
            raise OSError(f"{url}: connection reset")
        return create(mirror, name, content)

    monkeypatch.setattr(_place._Mirror, "_create", create_or_fail)
    with threads() as executor:
        there = ackwise.sweep(SWEEP, grid=GRID, seeds=4, executor=executor, store=url)
    assert there.to_dict() == ackwise.sweep(SWEEP, grid=GRID, seeds=4).to_dict()
    assert next(fails, None) is None


def test_copies_are_removed(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ackwise.sweep(SWEEP, seeds=1, store=f"{bucket}/sweep")
    with contextlib.suppress(ackwise.ExperimentError):
        ackwise.sweep({**SWEEP, "duration": "7 s"}, seeds=1, store=f"{bucket}/sweep")
    assert os.listdir(tmp_path) == []
