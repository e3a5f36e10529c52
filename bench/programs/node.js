// Node's http and http2: node.js plain|stall|think h1|h2c|h2 PORT [CERTIFICATE KEY]
const fs = require("fs");
const [mode, protocol, port, cert, key] = process.argv.slice(2);
const body = "x".repeat(300);

function answer(request, response) {
  if (mode === "plain") return response.end(body);
  response.writeHead(200, { "content-type": "text/plain" });
  response.write(body);
  setTimeout(() => response.end(body), mode === "think" ? 60 : 1);
}

const options = mode === "stall" ? { noDelay: false } : {};
let server;
if (protocol === "h1") server = require("http").createServer(options, answer);
else if (protocol === "h2c") server = require("http2").createServer(options, answer);
else server = require("http2").createSecureServer({ ...options, allowHTTP1: true, cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, answer);
if (mode === "stall") {
  server.on("connection", (socket) => socket.setNoDelay(false));
}
server.listen(Number(port), "0.0.0.0");
