// Keeps a server that knows only PORT on the loopback interface, and tells which port it got: with PORT=0 the kernel
// picks a free one. Used as `PORT=0 node --import ./loopback.mjs SERVER`; the first line on standard output is then
// `listening 127.0.0.1:41234`.
import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...rest) {
  if (port === null || (typeof port !== "number" && typeof port !== "string") || Number.isNaN(Number(port))) {
    return listen.call(this, port, ...rest);
  }
  const callback = rest.find((argument) => typeof argument === "function");
  this.once("listening", () => console.log(`listening 127.0.0.1:${this.address().port}`));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, callback);
};
