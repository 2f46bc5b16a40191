import { Agent } from "node:https";
import process from "node:process";
import { Proxy as MitmProxy } from "http-mitm-proxy";

const [port, folder] = process.argv.slice(2) as [string, string];
const proxy = new MitmProxy();
proxy.onError(() => {});
proxy.listen(
  {
    host: "127.0.0.1",
    port: Number(port),
    sslCaDir: folder,
    keepAlive: true,
    httpsAgent: new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }),
  },
  () => process.send?.({ caFile: `${folder}/certs/ca.pem` }),
);
