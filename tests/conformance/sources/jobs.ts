import { type ApiSpec, defineApi, type RecordSpec, requestBytes, type WireCase } from "./define.ts";
import { DOCUMENTS } from "./documents.ts";
import { RATES } from "./rates.ts";
import { concat, json, namedSse, responseBytes } from "./wire.ts";

/** Jobs that one call starts and later calls poll: one record, which the response with the usage completes. */

type Api = ReturnType<typeof defineApi>;

/** Adds a case of a job on one connection: the call that starts it, then polls. */
function addJob(
  api: Api,
  spec: ApiSpec,
  name: string,
  about: string,
  bodies: { started: unknown; polls: readonly unknown[] },
  poll: string,
  records: RecordSpec | readonly RecordSpec[],
): void {
  const fetch = requestBytes(spec, { method: "GET", path: poll });
  api.addBytes(
    name,
    about,
    {
      request: concat(requestBytes(spec), ...bodies.polls.map(() => fetch)),
      response: concat(...[bodies.started, ...bodies.polls].map((body) => responseBytes(json(body)))),
    },
    records,
  );
}

const RUN = "run_abcdefghijklmnopqrstuvwx";
const runsSpec: ApiSpec = {
  folder: "openai-runs",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/threads/thread_1/runs",
  request: { assistant_id: "asst_1" },
  source: DOCUMENTS.openaiRuns,
  id: RUN,
};
const runs = defineApi(runsSpec);
const run = (status: string, usage: unknown) => ({
  id: RUN,
  object: "thread.run",
  thread_id: "thread_1",
  model: "gpt-4o",
  status,
  usage,
});
const runUsage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_token_details: { cached_tokens: 0 },
};
const runRecord: RecordSpec = {
  model: "gpt-4o",
  requestedModel: null,
  tokens: { prompt: 100, cache_read: 0, completion: 20 },
  cost: RATES.gpt4o,
};
addJob(
  runs,
  runsSpec,
  "polled",
  "A run is created, polled while it works, and states its usage when it has ended: one record.",
  {
    started: run("queued", null),
    polls: [run("in_progress", null), run("completed", runUsage), run("completed", runUsage)],
  },
  `/v1/threads/thread_1/runs/${RUN}`,
  runRecord,
);
runs.add(
  "stream",
  "The run's last event states the usage; that of its steps is a part of it.",
  namedSse([
    { type: "thread.run.created", ...run("queued", null) },
    {
      type: "thread.run.step.completed",
      id: "step_1",
      object: "thread.run.step",
      usage: { prompt_tokens: 60, completion_tokens: 8, total_tokens: 68 },
    } as { type: string },
    { type: "thread.run.completed", ...run("completed", runUsage) },
  ]),
  { ...runRecord, streaming: true },
  { request: { stream: true } },
);
runs.add(
  "created",
  "A run that nothing fetches is a record with unknown tokens.",
  json(run("queued", null)),
  { model: "gpt-4o", requestedModel: null },
);
runs.add(
  "steps",
  "The steps repeat the usage of a run: no record.",
  json({
    object: "list",
    data: [{ id: "step_1", object: "thread.run.step", usage: { prompt_tokens: 60, completion_tokens: 8 } }],
  }),
  null,
  { method: "GET", path: `/v1/threads/thread_1/runs/${RUN}/steps` },
);

const EVAL = "evalrun_0123456789abcdef";
const evalsSpec: ApiSpec = {
  folder: "openai-evals",
  provider: "openai",
  host: "api.openai.com",
  path: "/v1/evals/eval_1/runs",
  request: { data_source: { type: "completions", model: "gpt-4o-mini" } },
  source: DOCUMENTS.openaiEvals,
  id: EVAL,
};
const evals = defineApi(evalsSpec);
const evalRun = (status: string, per_model_usage: unknown) => ({
  id: EVAL,
  object: "eval.run",
  eval_id: "eval_1",
  model: "gpt-4o-mini",
  status,
  per_model_usage,
});
addJob(
  evals,
  evalsSpec,
  "polled",
  "The models of an eval are billed apart: the first completes the record of the run, the grader has its own.",
  {
    started: evalRun("queued", null),
    polls: [
      evalRun("completed", [
        {
          model_name: "gpt-4o-mini",
          invocation_count: 10,
          prompt_tokens: 900,
          completion_tokens: 50,
          cached_tokens: 0,
          total_tokens: 950,
        },
        {
          model_name: "gpt-4o",
          invocation_count: 10,
          prompt_tokens: 400,
          completion_tokens: 10,
          cached_tokens: 0,
          total_tokens: 410,
        },
      ]),
    ],
  },
  `/v1/evals/eval_1/runs/${EVAL}`,
  [
    {
      model: "gpt-4o-mini",
      requestedModel: null,
      tokens: { prompt: 900, cache_read: 0, completion: 50 },
      cost: RATES.gpt4oMini,
    },
    {
      model: "gpt-4o",
      requestedModel: null,
      id: `${EVAL}/1`,
      tokens: { prompt: 400, cache_read: 0, completion: 10 },
      cost: RATES.gpt4o,
    },
  ],
);

const video = (folder: string, provider: string, host: string, path: string, model: string, id: string) => {
  const spec: ApiSpec = {
    folder,
    provider,
    host,
    path,
    request: { model, prompt: "Rain." },
    source: DOCUMENTS.videos,
    id,
  };
  return { spec, api: defineApi(spec) };
};

const XAI_VIDEO = "5f0f9d4c-7d0c-4b54-9d6e-3d0b0f3f9f11";
const xai = video("xai-videos", "xai", "api.x.ai", "/v1/videos/generations", "grok-imagine-video", XAI_VIDEO);
addJob(
  xai.api,
  xai.spec,
  "polled",
  "The last poll states the duration and what was billed, in ticks. The path has the id.",
  {
    started: { request_id: XAI_VIDEO },
    polls: [
      { status: "pending" },
      {
        status: "done",
        model: "grok-imagine-video",
        video: { url: "https://vidgen.x.ai/v.mp4", duration: 8, respect_moderation: true },
        usage: { cost_in_usd_ticks: 4000000000 },
      },
    ],
  },
  `/v1/videos/${XAI_VIDEO}`,
  { complete: true, extras: { video_milliseconds: 8000 }, providerCost: "400000000000", cost: "provider" },
);

const JOB = "job-0123456789abcdefghij";
const openrouterVideo = video(
  "openrouter-videos",
  "openrouter",
  "openrouter.ai",
  "/api/v1/videos",
  "google/veo-3.1",
  JOB,
);
addJob(
  openrouterVideo.api,
  openrouterVideo.spec,
  "polled",
  "The completed job states its cost and no model: the record keeps the one that was asked for.",
  {
    started: { id: JOB, polling_url: `/api/v1/videos/${JOB}`, status: "pending" },
    polls: [
      { id: JOB, polling_url: `/api/v1/videos/${JOB}`, status: "in_progress" },
      {
        id: JOB,
        polling_url: `/api/v1/videos/${JOB}`,
        status: "completed",
        generation_id: "gen-1",
        unsigned_urls: ["https://openrouter.ai/api/v1/videos/x/content"],
        usage: { cost: 0.5, is_byok: false },
      },
    ],
  },
  `/api/v1/videos/${JOB}`,
  { complete: true, providerCost: "500000000000", cost: "provider" },
);

const SORA = "video_0123456789abcdef0123";
const sora = video("openai-videos", "openai", "api.openai.com", "/v1/videos", "sora-2", SORA);
addJob(
  sora.api,
  sora.spec,
  "polled",
  "A video states its seconds when it is created; no price for them is in the list.",
  {
    started: { id: SORA, object: "video", model: "sora-2", status: "queued", seconds: "8", size: "1280x720" },
    polls: [
      { id: SORA, object: "video", model: "sora-2", status: "completed", seconds: "8", size: "1280x720" },
    ],
  },
  `/v1/videos/${SORA}`,
  { complete: true, extras: { video_milliseconds: 8000 } },
);

const TOGETHER_VIDEO = "019a5f3e-1d3b-7c11-9ee5-6a1a2a8b1c2d";
const together = video(
  "together-videos",
  "together",
  "api.together.xyz",
  "/v2/videos",
  "openai/sora-2",
  TOGETHER_VIDEO,
);
addJob(
  together.api,
  together.spec,
  "polled",
  "The outputs of a completed video state its cost.",
  {
    started: { id: TOGETHER_VIDEO, object: "video", model: "openai/sora-2", status: "in_progress" },
    polls: [
      {
        id: TOGETHER_VIDEO,
        object: "video",
        model: "openai/sora-2",
        status: "completed",
        seconds: "8",
        outputs: { cost: 0.8, video_url: "https://example.invalid/v.mp4" },
      },
    ],
  },
  `/v2/videos/${TOGETHER_VIDEO}`,
  { complete: true, extras: { video_milliseconds: 8000 }, providerCost: "800000000000", cost: "provider" },
);

const DEFERRED = "f8a2b6f0-6a40-4a5b-8f3e-0f6f6d5c4b3a";
const deferredSpec: ApiSpec = {
  folder: "deferred-chat",
  provider: "xai",
  host: "api.x.ai",
  path: "/v1/chat/completions",
  request: { model: "grok-4.5", messages: [{ role: "user", content: "Why is rain wet?" }], deferred: true },
  source: DOCUMENTS.xaiDeferred,
  id: DEFERRED,
};
const deferred = defineApi(deferredSpec);
addJob(
  deferred,
  deferredSpec,
  "xai",
  "A deferred completion is one record, under the id of the request.",
  {
    started: { request_id: DEFERRED },
    polls: [
      {
        id: "0daf962f-a275-4a3c-839a-047854645532",
        object: "chat.completion",
        model: "grok-4.5",
        choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      },
    ],
  },
  `/v1/chat/deferred-completion/${DEFERRED}`,
  { tokens: { prompt: 20, completion: 5 }, cost: RATES.grok45 },
);

const ASYNC = "b6e5a1c2-3d4f-4a5b-8c6d-7e8f9a0b1c2d";
const perplexitySpec: ApiSpec = {
  folder: "perplexity-async",
  provider: "perplexity",
  host: "api.perplexity.ai",
  path: "/async/chat/completions",
  request: { request: { model: "sonar-deep-research", messages: [] } },
  source: DOCUMENTS.perplexityAsync,
  id: ASYNC,
};
const perplexity = defineApi(perplexitySpec);
const asyncChat = (status: string, response: unknown) => ({
  id: ASYNC,
  model: "sonar-deep-research",
  created_at: 1795262400,
  status,
  response,
});
addJob(
  perplexity,
  perplexitySpec,
  "polled",
  "The completed request has the chat completion under response, with the cost.",
  {
    started: asyncChat("CREATED", null),
    polls: [
      asyncChat("IN_PROGRESS", null),
      asyncChat("COMPLETED", {
        id: "1ca7e5a0-9c3a-4d4d-8bd3-000000000000",
        model: "sonar-deep-research",
        choices: [{ index: 0, message: { role: "assistant", content: "Water." }, finish_reason: "stop" }],
        usage: {
          prompt_tokens: 9,
          completion_tokens: 100,
          total_tokens: 109,
          citation_tokens: 500,
          num_search_queries: 3,
          cost: { total_cost: 0.05 },
        },
      }),
    ],
  },
  `/async/chat/completions/${ASYNC}`,
  {
    model: "sonar-deep-research",
    requestedModel: null,
    tokens: { prompt: 9, completion: 100 },
    extras: { citation_tokens: 500, web_search_requests: 3 },
    providerCost: "50000000000",
    cost: "provider",
  },
);

const DREAM = "drm_01HqR2k7vXbZ9mNpL3wYcT8f";
const dreamsSpec: ApiSpec = {
  folder: "anthropic-dreams",
  provider: "anthropic",
  host: "api.anthropic.com",
  path: "/v1/dreams",
  request: { model: "claude-haiku-4-5" },
  source: DOCUMENTS.anthropicDreams,
  id: DREAM,
};
const dreams = defineApi(dreamsSpec);
const dream = (status: string, usage: object) => ({
  id: DREAM,
  type: "dream",
  status,
  model: { id: "claude-haiku-4-5", speed: "standard" },
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    ...usage,
  },
});
addJob(
  dreams,
  dreamsSpec,
  "polled",
  "The usage of a dream grows while it works; that of the ended dream counts.",
  {
    started: dream("pending", {}),
    polls: [
      dream("running", { input_tokens: 10 }),
      dream("completed", { input_tokens: 50, output_tokens: 7, cache_read_input_tokens: 40 }),
    ],
  },
  `/v1/dreams/${DREAM}`,
  {
    model: "claude-haiku-4-5",
    tokens: { prompt: 50, cache_read: 40, cache_write: 0, cache_write_1h: 0, completion: 7 },
    cost: RATES.haiku45,
  },
);

/** The cases of jobs. */
export const jobs: readonly WireCase[] = [
  runs,
  evals,
  xai.api,
  openrouterVideo.api,
  sora.api,
  together.api,
  deferred,
  perplexity,
  dreams,
].flatMap(({ cases }) => cases);
