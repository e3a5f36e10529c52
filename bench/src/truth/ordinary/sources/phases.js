// A client that tells its phases: `URL COUNT THINK_MS PROTOCOL`. Prints as phases.go.
const [url, count, think, protocol] = process.argv.slice(2);
const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
const sizes = [100, 1000, 10000, 100000];
const path = () => `/${sizes[Math.floor(Math.random() * 4)]}`;
const say = (port, begins) => console.log(port, String(begins), String(now()), 0);

const agent = new (require('https').Agent)({ keepAlive: true, rejectUnauthorized: false });
const http1 = () => new Promise((done, failed) => {
  const begins = now();
  const request = require('https').get(url + path(), { agent }, (response) => {
    const port = response.socket.localPort;
    response.on('data', () => {});
    response.on('end', () => { say(port, begins); done(); });
  });
  request.on('error', failed);
});

let session = null;
const http2 = () => new Promise((done, failed) => {
  const begins = now();
  if (!session || session.closed || session.destroyed) {
    session = require('http2').connect(url, { rejectUnauthorized: false });
    session.on('error', failed);
  }
  const mine = session;
  const stream = mine.request({ ':path': path() });
  stream.on('data', () => {});
  stream.on('end', () => { say(mine.socket.localPort, begins); done(); });
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
