import { Command, Option } from "clipanion";
import { CloudCommand } from "../cloud-command.ts";

export class ServeCommand extends CloudCommand {
  static override paths = [["serve"]];
  static override usage = Command.Usage({
    category: "Server",
    description: "Run the server",
    details: `
      By default listens on 127.0.0.1:8787 with an embedded database in the home. Set DATABASE_URL to use PostgreSQL.
      Migrates the tables and stores the bundled rates first. On SIGTERM it finishes the requests in flight, then exits.

      All other settings are in \`config.toml\` or the environment: see docs/hosting.md.
    `,
    examples: [
      ["Try it", "meter-cloud serve"],
      ["Serve with TLS", "meter-cloud serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem"],
    ],
  });

  host = Option.String("--host", { description: "The address to listen on" });
  port = Option.String("--port", { description: "The port; 0 picks a free one" });
  baseUrl = Option.String("--base-url", { description: "The public address of the server" });
  tlsCert = Option.String("--tls-cert", { description: "A PEM file with the certificate and its chain" });
  tlsKey = Option.String("--tls-key", { description: "A PEM file with the private key" });

  protected override async perform(): Promise<void> {
    const { readCloudConfig } = await import("../read-cloud-config.ts");
    const { importWithAccounts } = await import("../cloud-packages.ts");
    const { serveCloud } = await importWithAccounts(() => import("../serve-cloud.ts"));
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
