// A server of documents by size: `PORT THINK_MS [CERTIFICATE KEY [h2]]`. Prints the client's port and its own time of each
// request.
const fs = require('fs');
const [port, think, cert, key, protocol] = process.argv.slice(2);
const answer = (request, response) => {
  const begins = process.hrtime.bigint();
  const client = request.socket.remotePort;
  response.on('finish', () => console.log(`${client} ${(process.hrtime.bigint() - begins) / 1000n}us`));
  const [path] = request.url.slice(1).split('?');
  const send = () => {
    if (!path.endsWith('.html')) return response.end(Buffer.alloc(Number(path), 'x'));
    response.setHeader('Content-Type', 'text/html');
    response.end(fs.readFileSync(`${__dirname}/documents/${require('path').basename(path)}`));
  };
  const rest = -Math.log(1 - Math.random()) * Number(think);
  if (rest > 0) setTimeout(send, rest); else send();
};
const secure = () => ({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
const make = () => {
  if (protocol === 'h2') return require('http2').createSecureServer(secure(), answer);
  return cert ? require('https').createServer(secure(), answer) : require('http').createServer(answer);
};
const server = make();
server.keepAliveTimeout = 1000;
server.listen(Number(port), '0.0.0.0');
