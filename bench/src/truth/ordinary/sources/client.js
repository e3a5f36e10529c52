// A client with an agent that keeps connections: `URL COUNT THINK_MS IDLE_MS`. Prints as client.py.
const [url, count, think, idle] = process.argv.slice(2);
const library = require(url.startsWith('https') ? 'https' : 'http');
const agent = new library.Agent({ keepAlive: true, rejectUnauthorized: false });
const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
const sizes = [100, 1000, 10000, 100000];
const one = () => new Promise((done, failed) => {
  const begins = now();
  const request = library.get(`${url}/${sizes[Math.floor(Math.random() * 4)]}`, { agent }, (response) => {
    const port = response.socket.localPort;
    response.on('data', () => {});
    response.on('end', () => { console.log(port, String(begins), String(now()), 0); done(); });
  });
  request.on('error', failed);
});
const rest = () => Math.random() < 0.05 ? Number(idle) : -Math.log(1 - Math.random()) * Number(think);
(async () => {
  for (let number = 0; number < Number(count); number++) {
    await one();
    await new Promise((done) => setTimeout(done, rest()));
  }
  agent.destroy();
})().catch(() => process.exit(1));
