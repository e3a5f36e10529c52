"""frameworks.py tornado|aiohttp|flask|cheroot|wsgiref|twisted|xmlrpc PORT"""

import sys

name, port = sys.argv[1], int(sys.argv[2])
BODY = b"x" * 300


def tornado():
    import asyncio
    import tornado.web

    class Handler(tornado.web.RequestHandler):
        def get(self):
            self.write(BODY)

    async def main():
        tornado.web.Application([("/", Handler)]).listen(port)
        await asyncio.Event().wait()

    asyncio.run(main())


def aiohttp():
    from aiohttp import web

    async def answer(request):
        return web.Response(body=BODY)

    application = web.Application()
    application.add_routes([web.get("/", answer)])
    web.run_app(application, port=port)


def flask():
    import flask as it

    application = it.Flask("application")
    application.add_url_rule("/", view_func=lambda: BODY)
    application.run("0.0.0.0", port)


def cheroot():
    from cheroot import wsgi
    import application

    wsgi.Server(("0.0.0.0", port), application.wsgi).start()


def wsgiref():
    from wsgiref.simple_server import make_server
    import application

    make_server("0.0.0.0", port, application.wsgi).serve_forever()


def twisted():
    from twisted.internet import reactor
    from twisted.web import resource, server

    class Page(resource.Resource):
        isLeaf = True

        def render_GET(self, request):
            return BODY

    reactor.listenTCP(port, server.Site(Page()))
    reactor.run()


globals()[name]()
