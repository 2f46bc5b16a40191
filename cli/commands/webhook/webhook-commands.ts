import { Command } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class WebhookTestCommand extends MeterCommand {
  static override paths = [["webhook", "test"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "Send a test message to each webhook",
    details: `
      Sends the event webhook.test to each [[webhooks]] of config.toml, signed like every other message, and shows the
      responses. Exits with 1 if a response is not a 2xx. See docs/webhooks.md.
    `,
    examples: [["Test the webhooks", "meter webhook test"]],
  });

  protected override async perform(): Promise<void> {
    const { testWebhooks } = await import("./test-webhooks.ts");
    return await testWebhooks(this.commandContext);
  }
}

export class WebhookSecretCommand extends MeterCommand {
  static override paths = [["webhook", "secret"]];
  static override usage = Command.Usage({
    category: "Daemon",
    description: "Print a new random secret for a webhook",
    examples: [["Create a secret", "meter webhook secret"]],
  });

  protected override async perform(): Promise<void> {
    const { randomBytes } = await import("node:crypto");
    this.commandContext.printAsIs(`whsec_${randomBytes(32).toString("base64")}`);
  }
}
