// A server of documents by size: `PORT THINK_MS [CERTIFICATE KEY]`. Prints the client's port and its own time of each request.
const fs = require('fs');
const [port, think, cert, key] = process.argv.slice(2);
const answer = (request, response) => {
  const begins = process.hrtime.bigint();
  const client = request.socket.remotePort;
  response.on('finish', () => console.log(`${client} ${(process.hrtime.bigint() - begins) / 1000n}us`));
  const send = () => response.end(Buffer.alloc(Number(request.url.slice(1)), 'x'));
  const rest = -Math.log(1 - Math.random()) * Number(think);
  if (rest > 0) setTimeout(send, rest); else send();
};
const server = cert
  ? require('https').createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, answer)
  : require('http').createServer(answer);
server.keepAliveTimeout = 1000;
server.listen(Number(port), '0.0.0.0');
