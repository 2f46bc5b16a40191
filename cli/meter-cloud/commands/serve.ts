import { Command, Option } from "clipanion";
import { CloudCommand } from "../cloud-command.ts";

export class ServeCommand extends CloudCommand {
  static override paths = [["serve"]];
  static override usage = Command.Usage({
    category: "Server",
    description: "answer requests until told to stop",
    details: `
      With nothing configured: on 127.0.0.1:8787, with an embedded database in the home. DATABASE_URL names a PostgreSQL
      server instead. Tables and rates are brought up to date first. SIGTERM lets what is under way finish.

      Everything else is in \`config.toml\` or the environment: see docs/hosting.md.
    `,
    examples: [
      ["Try it", "meter-cloud serve"],
      [
        "With TLS of its own",
        "meter-cloud serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem",
      ],
    ],
  });

  host = Option.String("--host", { description: "the address to listen on" });
  port = Option.String("--port", { description: "the port; 0 takes a free one" });
  baseUrl = Option.String("--base-url", { description: "the address that people reach it at" });
  tlsCert = Option.String("--tls-cert", { description: "a PEM file with the certificate and its chain" });
  tlsKey = Option.String("--tls-key", { description: "a PEM file with its private key" });

  protected override async perform(): Promise<void> {
    const { readCloudConfig } = await import("../read-cloud-config.ts");
    const { serveCloud } = await import("../serve-cloud.ts");
    const config = await readCloudConfig(this.context.env, {
      config: this.config,
      server: {
        ...{ host: this.host, port: this.port, base_url: this.baseUrl },
        ...{ tls_cert: this.tlsCert, tls_key: this.tlsKey },
      },
    });
    const { stdout, stderr, env } = this.context;
    await serveCloud(config, { stdout, stderr, env });
  }
}
