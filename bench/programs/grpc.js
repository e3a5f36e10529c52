// @grpc/grpc-js: grpc.js plain|think PORT
const grpc = require("@grpc/grpc-js");
const [mode, port] = process.argv.slice(2);
const pass = (it) => it;
const method = {
  path: "/grpc.health.v1.Health/Check",
  requestStream: false,
  responseStream: false,
  requestSerialize: pass,
  requestDeserialize: pass,
  responseSerialize: pass,
  responseDeserialize: pass,
};
const server = new grpc.Server();
server.addService({ Check: method }, {
  Check(call, done) {
    const answer = () => done(null, Buffer.from([8, 1]));
    if (mode === "plain") return answer();
    call.sendMetadata(new grpc.Metadata());
    setTimeout(answer, 60);
  },
});
server.bindAsync(`0.0.0.0:${port}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
