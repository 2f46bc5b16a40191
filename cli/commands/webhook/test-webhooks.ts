import { randomUUID } from "node:crypto";
import { sha256 } from "../../../adapters/crypto/node-crypto.ts";
import { describeResult } from "../../../core/delivery/retry/cloud-result.ts";
import { createWebhookRequest } from "../../../core/delivery/webhook/webhook.ts";
import { isDelivered } from "../../../core/delivery/webhook/webhook-progress.ts";
import { createHttpClient } from "../../cloud/http-client.ts";
import { readConfig } from "../../home/read-config.ts";
import type { CommandContext } from "../../program/command-context.ts";
import { CommandFailure } from "../../program/exit-codes.ts";
import { version } from "../../program/version.ts";

/** Sends a test message to each webhook and shows the responses. */
export async function testWebhooks(context: CommandContext): Promise<void> {
  const { config, warnings } = await readConfig(context.home, context.env);
  for (const warning of warnings) context.notice(warning);
  const { webhooks, proxy } = config;
  if (webhooks.length === 0)
    throw new CommandFailure("config.toml has no [[webhooks]] that can be used. See docs/webhooks.md.");
  const client = createHttpClient(proxy.extraCa);
  try {
    let failed = 0;
    for (const webhook of webhooks) {
      const now = Date.now();
      const event = { type: "webhook.test", data: { daemon_version: version }, id: randomUUID(), at: now };
      const result = await client.send(createWebhookRequest(webhook, event, now, sha256));
      if (!isDelivered(result)) failed += 1;
      const outcome = isDelivered(result) ? "delivered" : "failed";
      context.print(`${new URL(webhook.url).host}: ${outcome} (${describeResult(result)})`);
    }
    if (failed > 0) throw new CommandFailure(`${failed} of ${webhooks.length} webhooks failed.`);
  } finally {
    await client.close();
  }
}
