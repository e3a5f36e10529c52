"""grpcio or grpc.aio: grpc_server.py plain|think sync|aio PORT"""

import asyncio
import sys
import time
from concurrent import futures

import grpc

mode, kind, port = sys.argv[1:]


def check(request, context):
    if mode == "think":
        context.send_initial_metadata(())
        time.sleep(0.06)
    return b"\x08\x01"


async def check_aio(request, context):
    if mode == "think":
        await context.send_initial_metadata(())
        await asyncio.sleep(0.06)
    return b"\x08\x01"


def handlers(method):
    return [grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(method)})]


async def serve():
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(handlers(check_aio))
    server.add_insecure_port(f"0.0.0.0:{port}")
    await server.start()
    await server.wait_for_termination()


if kind == "aio":
    asyncio.run(serve())
else:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(handlers(check))
    server.add_insecure_port(f"0.0.0.0:{port}")
    server.start()
    server.wait_for_termination()
