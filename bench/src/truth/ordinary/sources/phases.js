// A client that tells its phases: `URL COUNT THINK_MS PROTOCOL`. Prints as phases.go.
const [url, count, think, protocol] = process.argv.slice(2);
const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
const sizes = [100, 1000, 10000, 100000];
const path = () => `/${sizes[Math.floor(Math.random() * 4)]}`;
const say = (port, begins, ends) => console.log(port, String(begins), String(ends), 0);

const [http, https, net, tls] = ['http2', 'https', 'net', 'tls'].map(require);
const secureContext = tls.createSecureContext();
let connects = null;
const connect = () => {
  const { hostname, port } = new URL(url);
  const socket = new net.Socket();
  connects = now();
  socket.connect(port, hostname);
  return tls.connect({ socket, secureContext, rejectUnauthorized: false, ALPNProtocols: [protocol] });
};
// The last read of a message is that of its last data.
const read = (stream, port, begins, done) => {
  let last = null;
  stream.on('data', () => { last = now(); });
  stream.on('end', () => { say(port(), begins, last); done(); });
};

const agent = new https.Agent({ keepAlive: true });
agent.createConnection = connect;
const http1 = () => new Promise((done, failed) => {
  connects = null;
  const asks = now();
  const request = https.get(url + path(), { agent }, (response) => {
    const port = response.socket.localPort;
    read(response, () => port, mine ?? asks, done);
  });
  const mine = connects;
  request.on('error', failed);
});

let session = null;
const http2 = () => new Promise((done, failed) => {
  connects = null;
  if (!session || session.closed || session.destroyed) {
    session = http.connect(url, { createConnection: connect });
    session.on('error', failed);
  }
  const [mine, begins] = [session, connects ?? now()];
  const stream = mine.request({ ':path': path() });
  read(stream, () => mine.socket.localPort, begins, done);
  stream.on('error', failed);
  stream.end();
});

const one = protocol === 'h2' ? http2 : http1;
const rest = () => -Math.log(1 - Math.random()) * Number(think);
(async () => {
  for (let number = 0; number < Number(count);) {
    // Some requests at a time, once there is a connection.
    const together = number === 0 ? 1 : Math.min(1 + Math.floor(Math.random() * 3), Number(count) - number);
    await Promise.all(Array.from({ length: together }, one));
    number += together;
    await new Promise((done) => setTimeout(done, rest()));
  }
  agent.destroy();
  session?.close();
})().catch((why) => { console.error(why); process.exit(1); });
