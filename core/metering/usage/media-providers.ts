import { openai, overTls, type Provider, V1 } from "./provider.ts";

/** Providers of speech, images and video, which bill by other units than tokens. Sources: see `PROVIDER_DIALECTS`. */
export const MEDIA_PROVIDERS: readonly Provider[] = [
  overTls(
    "elevenlabs",
    [
      "api.elevenlabs.io",
      "api.us.elevenlabs.io",
      "api.eu.residency.elevenlabs.io",
      "api.in.residency.elevenlabs.io",
    ],
    [["elevenlabs", /^(?=\/)/]],
    { gatewayPrefix: "elevenlabs" },
  ),
  // Flux has the second version of the API.
  overTls("deepgram", ["api.deepgram.com", "api.eu.deepgram.com"], [["deepgram", /^\/v[12](?=\/)/]], {
    gatewayPrefix: "deepgram",
  }),
  overTls("deepgram", ["agent.deepgram.com"], [["deepgram-agent", /^(?=\/)/]]),
  overTls("assemblyai", ["api.assemblyai.com", "api.eu.assemblyai.com"], [["assemblyai", /^(?=\/)/]], {
    gatewayPrefix: "assemblyai",
  }),
  overTls(
    "assemblyai",
    ["streaming.assemblyai.com", "streaming.eu.assemblyai.com"],
    [["assemblyai-streaming", /^(?=\/)/]],
  ),
  overTls("assemblyai", ["llm-gateway.assemblyai.com", "llm-gateway.eu.assemblyai.com"], [openai(V1)]),
  overTls("replicate", ["api.replicate.com"], [["replicate", V1]], { gatewayPrefix: "replicate" }),
  overTls("fal", ["fal.run"], [["fal", /^(?=\/)/]], { gatewayPrefix: "fal" }),
  overTls("fal", ["queue.fal.run"], [["fal-queue", /^(?=\/)/]]),
];
