// Serves the files of a directory with Node's http module, nothing else changed.
const fs = require("fs");
const http = require("http");
const path = require("path");

const [port, directory] = process.argv.slice(2);

http
  .createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : path.basename(request.url);
    fs.readFile(path.join(directory, name), (error, content) => {
      const type = name.endsWith(".html") ? "text/html" : "application/octet-stream";
      response.writeHead(error ? 404 : 200, { "Content-Type": type });
      response.end(error ? "not found" : content);
    });
  })
  .listen(Number(port), "0.0.0.0");
