// frameworks.js express|fastify|koa|fastify2 PORT
const [name, port] = process.argv.slice(2);
const body = "x".repeat(300);
if (name === "express") {
  const application = require("express")();
  application.get("/", (request, response) => response.send(body));
  application.listen(Number(port), "0.0.0.0");
} else if (name === "koa") {
  const application = new (require("koa"))();
  application.use((context) => { context.body = body; });
  application.listen(Number(port), "0.0.0.0");
} else {
  const application = require("fastify")({ http2: name === "fastify2" });
  application.get("/", async () => body);
  application.listen({ port: Number(port), host: "0.0.0.0" });
}
