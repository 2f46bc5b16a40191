import type { InstallFacts } from "../../../../core/operations/install/plan-install.ts";

/** Values that every file format must escape in its own way. */
export const specialCharacters = "a b'c\"d$HOME`e`\\f%g&<h>";

/** A Linux machine with everything that the plan can use. */
export const linuxFacts = (more: Partial<InstallFacts> = {}): InstallFacts => ({
  program: {
    nodePath: "/opt/node/bin/node",
    programPath: "/opt/meter/cli/bin.js",
    supervisorPath: "/opt/meter/cli/supervise.sh",
    meterHome: "/home/u/.meter",
    environment: {},
  },
  name: "meter",
  proxy: { host: "127.0.0.1", port: 8081 },
  service: { kind: "systemd", unitFolder: "/home/u/.config/systemd/user" },
  ca: { path: "/home/u/.meter/ca/ca.pem", pem: "PEM\n", sha1: "0123456789ABCDEF0123456789ABCDEF01234567" },
  trustStores: [],
  apps: null,
  ...more,
});
