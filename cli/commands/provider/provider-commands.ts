import { Command, Option } from "clipanion";
import { MeterCommand } from "../../program/meter-command.ts";

export class ProviderAddCommand extends MeterCommand {
  static override paths = [["provider", "add"]];
  static override usage = Command.Usage({
    category: "Metering",
    description: "Meter another host, such as a company's gateway",
    details: `
      Adds a \`[[providers]]\` table to config.toml and keeps everything else in the file. The daemon reads it when it starts.
      An API is openai, anthropic, gemini, ollama, azure, bedrock, vertex, code-assist, cohere, model-serving, lmstudio or
      llama-cpp. Without --api, hosts of Databricks and Snowflake have their own APIs, and other hosts OpenAI's.
    `,
    examples: [
      [
        "Meter a gateway that serves two APIs",
        "meter provider add llm.example.com --api openai --api anthropic",
      ],
      ["Meter a server on a port, below a path", "meter provider add gpu-box --port 8001 --base-path /llm"],
      ["Use OpenAI's prices", "meter provider add llm.example.com --name corp --prices openai"],
    ],
  });

  host = Option.String({ name: "host" });
  api = Option.Array("--api", { description: "An API that the host serves. Repeat the option for several" });
  port = Option.String("--port", { description: "Only this port. Default: every port" });
  basePath = Option.String("--base-path", {
    description: "The path before the APIs' own paths, such as /llm",
  });
  providerName = Option.String("--name", {
    description: "The provider's name in reports. Default: derived from the host",
  });
  prices = Option.String("--prices", { description: "The provider whose prices apply, such as openai" });
  billing = Option.String("--billing", {
    description: "How its calls are billed: metered, plan, free or unknown",
  });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { addProvider } = await import("./add-provider.ts");
    return await addProvider(this.commandContext, this);
  }
}

export class ProviderListCommand extends MeterCommand {
  static override paths = [["provider", "list"]];
  static override usage = Command.Usage({
    category: "Metering",
    description: "List the hosts that are metered",
    examples: [
      ["List all providers", "meter provider list"],
      ["List the hosts of one provider", "meter provider list azure"],
    ],
  });

  word = Option.String({ name: "word", required: false });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { listProviders } = await import("./list-providers.ts");
    return await listProviders(this.commandContext, this);
  }
}

export class ProviderTestCommand extends MeterCommand {
  static override paths = [["provider", "test"]];
  static override usage = Command.Usage({
    category: "Metering",
    description: "Show how a URL is metered",
    details: "Nothing is sent to the host. Without a path, the usual paths of the APIs are tried.",
    examples: [
      ["Try the usual paths of a host", "meter provider test llm.example.com"],
      ["Try one URL", "meter provider test https://llm.example.com/v1/chat/completions"],
    ],
  });

  url = Option.String({ name: "url" });
  method = Option.String("--method", "POST", { description: "The request method" });
  json = Option.Boolean("--json", false, { description: "Print JSON" });

  protected override async perform(): Promise<void> {
    const { testProvider } = await import("./test-provider.ts");
    return await testProvider(this.commandContext, this);
  }
}
