import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRegistry } from "../../../../core/metering/usage/registry.ts";
import { matchUrl, registry, spell } from "./registry.rig.ts";

/** Domains with two labels below which there are only listed hosts: a provider's own, and Azure's for API gateways. */
const isSmallDomain = new Set([
  "openrouter.ai",
  "ollama.com",
  "chatgpt.com",
  "opencode.ai",
  "fal.run",
  "*.azure-api.net",
]);

const table: Record<string, string> = {
  "POST https://api.anthropic.com/v1/messages": "anthropic anthropic.messages chat",
  "POST https://api.anthropic.com/v1/messages?beta=true": "anthropic anthropic.messages chat",
  "POST https://API.Anthropic.com//v1/messages/": "anthropic anthropic.messages chat",
  "POST https://api.anthropic.com/v1/messages/count_tokens?beta=true": "anthropic free",
  "POST https://api.anthropic.com/v1/messages/batches": "anthropic free",
  "GET https://api.anthropic.com/v1/messages/batches/msgbatch_1": "anthropic free",
  "GET https://api.anthropic.com/v1/messages/batches/msgbatch_1/results":
    "anthropic anthropic.batch_results chat fetches",
  "POST https://api.anthropic.com/v1/complete": "anthropic unknown_path",
  "GET https://api.anthropic.com/v1/messages": "anthropic unknown_path",
  "OPTIONS https://api.anthropic.com/v1/messages": "anthropic free",
  "POST https://api.anthropic.com/v1/sessions": "anthropic free",
  "GET https://api.anthropic.com/v1/sessions/sesn_1": "anthropic repeated chat fetches",
  "POST https://api.anthropic.com/v1/sessions/sesn_1/events": "anthropic free",
  "GET https://api.anthropic.com/v1/sessions/sesn_1/events":
    "anthropic anthropic.session_events chat fetches",
  "GET https://api.anthropic.com/v1/sessions/sesn_1/events/stream":
    "anthropic anthropic.session_events chat fetches",
  "GET https://api.anthropic.com/v1/sessions/sesn_1/threads/th_1/stream":
    "anthropic anthropic.session_events chat fetches",
  "POST https://api.anthropic.com/v1/dreams": "anthropic anthropic.dreams chat false",
  "GET https://api.anthropic.com/v1/dreams/drm_1": "anthropic anthropic.dreams chat fetches",
  "HEAD https://api.anthropic.com/": "anthropic free",
  "GET https://api.anthropic.com/v1/models?limit=5": "anthropic free",
  "POST https://api.anthropic.com/api/event_logging/batch": "anthropic free",
  "POST https://api.anthropic.com/api/event_logging/v2/batch": "anthropic free",
  "GET https://api.anthropic.com/mcp-registry/v0/servers?version=latest&limit=100": "anthropic free",
  "GET https://api.anthropic.com/api/oauth/profile": "anthropic free",
  "GET https://api.anthropic.com/api/claude_cli/bootstrap": "anthropic free",
  "GET https://api.anthropic.com/api/claude_code_penguin_mode": "anthropic free",
  "GET https://api.anthropic.com/v1/mcp_servers?limit=1000": "anthropic free",
  "POST https://api.anthropic.com/api/magic": "anthropic unknown_path",
  "POST https://api.anthropic.com/mcp-registry/v0/servers": "anthropic unknown_path",
  "POST https://api.anthropic.com/v1/models": "anthropic unknown_path",
  "POST https://api.anthropic.com/v1/chat/completions": "anthropic openai.chat chat",
  "POST https://api.openai.com/v1/chat/completions": "openai openai.chat chat",
  "GET https://api.openai.com/v1/chat/completions/chatcmpl-1": "openai repeated chat fetches",
  "POST https://eu.api.openai.com/v1/responses": "openai openai.responses chat +regional_endpoint",
  "POST https://api.openai.com/v1/responses/compact": "openai openai.responses chat",
  "POST https://api.openai.com/v1/responses/input_tokens": "openai free",
  "GET https://api.openai.com/v1/responses/resp_1": "openai openai.responses chat fetches",
  "POST https://api.openai.com/v1/responses/resp_1/cancel": "openai openai.responses chat fetches",
  "GET https://api.openai.com/v1/responses/resp_1/input_items": "openai free",
  "GET https://api.openai.com/v1/responses": "openai openai.responses chat true webSocket",
  "GET https://api.openai.com/v1/realtime?model=gpt-realtime": "openai openai.realtime chat true webSocket",
  "POST https://api.openai.com/v1/realtime/client_secrets": "openai free",
  "POST https://api.openai.com/v1/realtime/calls": "openai other_units audio",
  "POST https://api.openai.com/v1/batches": "openai free",
  "POST https://api.openai.com/v1/moderations": "openai free",
  "GET https://api.openai.com/v1/files/file-1/content": "openai openai.file_content chat fetches",
  "GET https://api.openai.com/v1/files/file-1": "openai free",
  "POST https://api.openai.com/v1/audio/transcriptions": "openai openai.transcriptions audio",
  "POST https://api.openai.com/v1/audio/translations": "openai openai.transcriptions audio",
  "POST https://api.openai.com/v1/audio/speech": "openai openai.speech audio",
  "POST https://api.openai.com/v1/videos": "openai other_units other false",
  "GET https://api.openai.com/v1/videos/video_1": "openai other_units other fetches",
  "GET https://api.openai.com/v1/videos/video_1/content": "openai free",
  "POST https://api.openai.com/v1/threads/runs": "openai openai.runs chat",
  "POST https://api.openai.com/v1/threads/thread_1/runs": "openai openai.runs chat",
  "GET https://api.openai.com/v1/threads/thread_1/runs/run_1": "openai openai.runs chat fetches",
  "POST https://api.openai.com/v1/threads/thread_1/runs/run_1/submit_tool_outputs":
    "openai openai.runs chat fetches",
  "GET https://api.openai.com/v1/threads/thread_1/runs/run_1/steps": "openai repeated chat fetches",
  "POST https://api.openai.com/v1/threads/thread_1/messages": "openai free",
  "POST https://api.openai.com/v1/evals/eval_1/runs": "openai openai.eval_runs chat false",
  "GET https://api.openai.com/v1/evals/eval_1/runs/evalrun_1": "openai openai.eval_runs chat fetches",
  "POST https://api.openai.com/v1/containers": "openai other_units other false",
  "GET https://api.openai.com/v1/containers/cntr_1/files": "openai free",
  "POST https://api.openai.com/v1/fine_tuning/jobs": "openai other_units other false",
  "GET https://api.openai.com/v1/fine_tuning/jobs/ftjob-1": "openai other_units other fetches",
  "POST https://api.openai.com/v1/realtime/calls/rtc_1/hangup": "openai free",
  "POST https://api.openai.com/v1/completions": "openai openai.completions chat",
  "POST https://api.openai.com/v1/embeddings": "openai openai.embeddings embedding",
  "GET https://api.openai.com/v1/models": "openai free",
  "POST https://api.openai.com/v1/images/generations": "openai openai.images image",
  "POST https://api.openai.com/v1/images/edits": "openai openai.images image",
  "POST https://api.openai.com/chat/completions": "openai unknown_path",
  "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent":
    "gemini gemini.generate chat gemini-x false",
  "POST https://generativelanguage.googleapis.com/v1/models/gemini-x:streamGenerateContent?alt=sse":
    "gemini gemini.generate chat gemini-x true",
  "POST https://generativelanguage.googleapis.com/v1beta/tunedModels/mine%20own:generateContent":
    "gemini gemini.generate chat mine own false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/bad%ZZ:generateContent":
    "gemini gemini.generate chat bad%ZZ false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:embedContent":
    "gemini gemini.embed embedding e false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:batchEmbedContents":
    "gemini gemini.embed embedding e false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/e:countTokens": "gemini free",
  "GET https://generativelanguage.googleapis.com/v1beta/models": "gemini free",
  "POST https://generativelanguage.googleapis.com/v1beta/models/imagen:predict":
    "gemini vertex.predict image imagen false",
  "POST https://generativelanguage.googleapis.com/v1beta/models/veo-3.1:predictLongRunning":
    "gemini other_units other veo-3.1 false",
  "POST https://generativelanguage.googleapis.com/v1beta/cachedContents":
    "gemini gemini.cached_contents other false",
  "PATCH https://generativelanguage.googleapis.com/v1beta/cachedContents/c1": "gemini repeated other fetches",
  "DELETE https://generativelanguage.googleapis.com/v1beta/cachedContents/c1": "gemini free",
  "GET https://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k":
    "gemini gemini.live chat true webSocket",
  "GET https://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained":
    "gemini gemini.live chat true webSocket",
  "GET https://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateMusic":
    "gemini speech.session audio true webSocket",
  "POST https://generativelanguage.googleapis.com/upload/v1beta/files": "gemini free",
  "POST https://generativelanguage.googleapis.com/v1beta/openai/chat/completions": "gemini openai.chat chat",
  "POST https://play.googleapis.com/log": "not_provider",
  "POST https://api.x.ai/v1/chat/completions": "xai openai.chat chat",
  "POST https://us-east-1.api.x.ai/v1/responses": "xai openai.responses chat",
  "POST https://api.x.ai/v1/messages": "xai anthropic.messages chat",
  "GET https://api.x.ai/v1/api-key": "xai free",
  "GET https://api.x.ai/v1/batches/batch_1/results?limit=100": "xai xai.batch_results chat fetches",
  "POST https://api.x.ai/v1/batches/batch_1/requests": "xai free",
  "GET https://api.x.ai/v1/batches/batch_1": "xai free",
  "POST https://api.x.ai/v1/videos/generations": "xai other_units other false",
  "GET https://api.x.ai/v1/videos/r1": "xai other_units other fetches",
  "GET https://api.x.ai/v1/chat/deferred-completion/r1": "xai chat.deferred chat fetches",
  "POST https://api.x.ai/v1/tts": "xai openai.speech audio",
  "GET https://api.x.ai/v1/stt": "xai speech.session audio true webSocket",
  "GET https://api.mistral.ai/v1/audio/transcriptions/realtime":
    "mistral speech.session audio true webSocket",
  "GET https://api.openai.com/v1/realtime/translations": "openai speech.session audio true webSocket",
  "POST https://chatgpt.com/backend-api/codex/memories/trace_summarize": "codex other_units chat plan",
  "POST https://api.x.ai/v1/stt": "xai openai.transcriptions audio false",
  "POST https://openrouter.ai/api/v1/chat/completions": "openrouter openai.chat chat",
  "POST https://openrouter.ai/api/v1/responses": "openrouter openai.responses chat",
  "POST https://openrouter.ai/api/v1/messages": "openrouter anthropic.messages chat",
  "GET https://openrouter.ai/api/v1/generation?id=gen-1": "openrouter repeated chat fetches",
  "GET https://openrouter.ai/models": "openrouter free",
  "POST https://openrouter.ai/models": "openrouter unknown_path",
  "POST https://openrouter.ai/api/v1/images": "openrouter openai.images image",
  "POST https://openrouter.ai/api/v1/rerank": "openrouter rerank other false",
  "POST https://openrouter.ai/api/v1/videos": "openrouter other_units other false",
  "GET https://openrouter.ai/api/v1/videos/job-1": "openrouter other_units other fetches",
  "GET https://openrouter.ai/api/v1/videos/models": "openrouter free",
  "POST https://openrouter.ai/api/v1/presets/mine/chat/completions": "openrouter openai.chat chat",
  "POST https://openrouter.ai/api/v2/magic": "openrouter unknown_path",
  "POST http://localhost:11434/api/chat": "ollama ollama.chat chat free",
  "POST http://127.0.0.1:11434/api/generate": "ollama ollama.generate chat free",
  "POST http://[::1]:11434/api/embed": "ollama ollama.embed embedding false free",
  "POST http://localhost:11434/v1/chat/completions": "ollama openai.chat chat free",
  "POST http://localhost:11434/v1/messages": "ollama anthropic.messages chat free",
  "GET http://localhost:11434/": "ollama free",
  "GET http://localhost:11434/api/tags": "ollama free",
  "POST http://localhost:8088/api/chat": "not_provider",
  "POST https://ollama.com/api/chat": "ollama ollama.chat chat plan",
  "GET https://ollama.com/library": "ollama free",
  "POST https://ollama.com/library": "ollama unknown_path",
  "POST https://api.groq.com/openai/v1/chat/completions": "groq openai.chat chat",
  "POST https://api.mistral.ai/v1/chat/completions": "mistral openai.chat chat",
  "POST https://codestral.mistral.ai/v1/fim/completions": "mistral openai.completions chat",
  "POST https://api.mistral.ai/v1/agents/completions": "mistral openai.chat chat",
  "POST https://api.mistral.ai/v1/ocr": "mistral mistral.ocr other false",
  "POST https://api.mistral.ai/v1/conversations": "mistral mistral.conversations chat",
  "POST https://api.mistral.ai/v1/conversations/conv_1": "mistral mistral.conversations chat",
  "POST https://api.mistral.ai/v1/conversations/conv_1/restart": "mistral mistral.conversations chat",
  "GET https://api.mistral.ai/v1/conversations/conv_1/history": "mistral free",
  "POST https://api.mistral.ai/v1/moderations": "mistral mistral.classifications other false",
  "POST https://api.mistral.ai/v1/chat/classifications": "mistral mistral.classifications other false",
  "POST https://api.mistral.ai/v1/agents": "mistral free",
  "POST https://api.deepseek.com/chat/completions": "deepseek openai.chat chat",
  "POST https://api.deepseek.com/v1/chat/completions": "deepseek openai.chat chat",
  "POST https://api.deepseek.com/anthropic/v1/messages": "deepseek anthropic.messages chat",
  "GET https://api.deepseek.com/user/balance": "deepseek free",
  "POST https://api.together.xyz/v1/chat/completions": "together openai.chat chat",
  "POST https://us-api.together.ai/v1/chat/completions": "together openai.chat chat +regional_endpoint",
  "POST https://api.together.xyz/v1/rerank": "together rerank other false",
  "POST https://api.together.xyz/v2/videos": "together other_units other false",
  "POST https://api.fireworks.ai/inference/v1/rerank": "fireworks rerank other false",
  "POST https://api.fireworks.ai/inference/v1/chat/completions": "fireworks openai.chat chat",
  "POST https://api.perplexity.ai/chat/completions": "perplexity openai.chat chat",
  "POST https://api.perplexity.ai/v1/responses": "perplexity openai.responses chat",
  "POST https://api.perplexity.ai/search": "perplexity other_units other false",
  "POST https://api.perplexity.ai/v1/agent": "perplexity openai.responses chat",
  "POST https://api.perplexity.ai/async/chat/completions": "perplexity chat.deferred chat false",
  "GET https://api.perplexity.ai/async/chat/completions/a1": "perplexity chat.deferred chat fetches",
  "POST https://api.cerebras.ai/v1/chat/completions": "cerebras openai.chat chat",
  "POST https://api.cohere.ai/compatibility/v1/embeddings": "cohere openai.embeddings embedding",
  "POST https://api.cohere.com/v2/chat": "cohere cohere.chat chat",
  "POST https://api.cohere.com/v1/chat": "cohere cohere.chat chat",
  "POST https://api.cohere.com/v2/embed": "cohere cohere.embed embedding false",
  "POST https://api.cohere.com/v2/rerank": "cohere cohere.rerank other false",
  "POST https://api.cohere.com/v1/tokenize": "cohere free",
  "POST https://api.cohere.com/v1/generate": "cohere cohere.generate chat",
  "POST https://api.cohere.com/v1/classify": "cohere cohere.units other false",
  "POST https://api.cohere.com/v2/audio/transcriptions": "cohere cohere.units other false",
  "POST https://generativelanguage.googleapis.com/v1beta/interactions": "gemini gemini.interactions chat",
  "GET https://generativelanguage.googleapis.com/v1beta/interactions/i1":
    "gemini gemini.interactions chat fetches",
  "GET https://generativelanguage.googleapis.com/v1beta/batches/b1": "gemini gemini.batch chat fetches",
  "POST https://generativelanguage.googleapis.com/v1beta/models/m:batchGenerateContent": "gemini free",
  "GET https://generativelanguage.googleapis.com/download/v1beta/files/f1:download?alt=media":
    "gemini gemini.batch_file chat fetches",
  "POST https://chatgpt.com/backend-api/codex/responses": "codex openai.responses chat plan",
  "GET https://chatgpt.com/backend-api/codex/responses": "codex openai.responses chat true webSocket plan",
  "POST https://chatgpt.com/backend-api/codex/responses/compact": "codex openai.responses chat plan",
  "GET https://chatgpt.com/backend-api/codex/models": "codex free",
  "POST https://chatgpt.com/backend-api/codex/analytics-events/events": "codex free",
  "POST https://chatgpt.com/backend-api/codex/magic": "codex unknown_path",
  "POST https://chatgpt.com/backend-api/conversation": "codex unknown_path",
  "GET https://chatgpt.com/backend-api/wham/usage": "codex free",
  "GET https://chatgpt.com/codex/settings": "codex free",
  "POST https://chatgpt.com/codex/settings": "codex unknown_path",
  "GET https://chatgpt.com/backend-api/magic": "codex unknown_path",
  "POST https://ab.chatgpt.com/otlp/v1/metrics": "not_provider",
  "POST https://cloudcode-pa.googleapis.com/v1internal:generateContent":
    "code-assist gemini.code_assist chat false plan",
  "POST https://daily-cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse":
    "code-assist gemini.code_assist chat true plan",
  "POST https://cloudcode-pa.googleapis.com/v1internal:loadCodeAssist": "code-assist free",
  "POST https://cloudcode-pa.googleapis.com/v1internal:recordCodeAssistMetrics": "code-assist free",
  "POST https://cloudcode-pa.googleapis.com/v1internal:countTokens": "code-assist free",
  "POST https://cloudcode-pa.googleapis.com/v1internal:retrieveUserQuota": "code-assist free",
  "POST https://cloudcode-pa.googleapis.com/v1internal:completeCode": "code-assist unknown_path",
  "POST https://cloudcode-pa.googleapis.com/v1internal:generateImages": "code-assist unknown_path",
  "POST https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/gemini-x:generateContent":
    "vertex gemini.generate chat gemini-x false +regional_endpoint",
  "POST https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/gemini-x:streamGenerateContent?alt=sse":
    "vertex gemini.generate chat gemini-x true",
  "POST https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-x:generateContent":
    "vertex gemini.generate chat gemini-x false",
  "POST https://aiplatform.us.rep.googleapis.com/v1/projects/p/locations/us/publishers/anthropic/models/claude-x@20250101:rawPredict":
    "vertex anthropic.messages chat claude-x@20250101 +regional_endpoint",
  "POST https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-x:streamRawPredict":
    "vertex anthropic.messages chat claude-x +regional_endpoint",
  "POST https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/count-tokens:rawPredict":
    "vertex free",
  "POST https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/mistralai/models/mistral-x:rawPredict":
    "vertex openai.chat chat mistral-x +regional_endpoint",
  "POST https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/endpoints/openapi/chat/completions":
    "vertex openai.chat chat +regional_endpoint",
  "POST https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/google/models/m:countTokens":
    "vertex free",
  "POST https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/google/models/imagen-4.0-generate-001:predict":
    "vertex vertex.predict image imagen-4.0-generate-001 false +regional_endpoint",
  "POST https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/text-multilingual-embedding-002:predict":
    "vertex vertex.predict embedding text-multilingual-embedding-002 false",
  "POST https://aiplatform.googleapis.com/v1/publishers/google/models/textembedding-gecko@003:predict":
    "vertex vertex.predict embedding textembedding-gecko@003 false",
  "POST https://aiplatform.googleapis.com/v1/publishers/google/models/multimodalembedding@001:predict":
    "vertex vertex.predict other multimodalembedding@001 false",
  "POST https://aiplatform.googleapis.com/v1/publishers/google/models/veo-3.0:predictLongRunning":
    "vertex other_units other veo-3.0 false",
  "POST https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/ai21/models/jamba-1.6:rawPredict":
    "vertex any_model chat jamba-1.6 +regional_endpoint",
  "POST https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/123:rawPredict":
    "vertex any_model chat 123 +regional_endpoint",
  "POST https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/cachedContents":
    "vertex gemini.cached_contents other false +regional_endpoint",
  "GET https://us-east5-aiplatform.googleapis.com/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent":
    "vertex gemini.live chat true webSocket +regional_endpoint",
  "POST https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/mistralai/models/mistral-ocr-2505:rawPredict":
    "vertex mistral.ocr other mistral-ocr-2505 false +regional_endpoint",
  "POST https://mars-north1-aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent":
    "not_provider",
  "GET https://storage.googleapis.com/b": "not_provider",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/converse":
    "bedrock bedrock.converse chat us.anthropic.claude-x-v1:0 false",
  "POST https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse-stream":
    "bedrock bedrock.converse chat m true",
  "POST https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/model/m/invoke":
    "bedrock bedrock.invoke chat m false",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke-with-response-stream":
    "bedrock bedrock.invoke chat m true",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.m/converse":
    "bedrock bedrock.converse chat arn:aws:bedrock:us-east-1:1:inference-profile/us.m false",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m/count-tokens": "bedrock free",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/guardrail/g/version/1/apply":
    "bedrock other_units other false",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/async-invoke": "bedrock other_units other false",
  "GET https://bedrock-runtime.us-east-1.amazonaws.com/async-invoke/a1": "bedrock free",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-sonic-v1%3A0/invoke-with-bidirectional-stream":
    "bedrock bedrock.bidirectional audio amazon.nova-sonic-v1:0 true",
  "POST https://bedrock-agent-runtime.us-east-1.amazonaws.com/agents/A/agentAliases/B/sessions/s/text":
    "bedrock bedrock.agents chat true",
  "POST https://bedrock-agent-runtime.us-east-1.amazonaws.com/retrieveAndGenerate":
    "bedrock other_units other",
  "POST https://bedrock-agent-runtime.us-east-1.amazonaws.com/magic": "bedrock unknown_path",
  "POST https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions":
    "bedrock openai.chat chat",
  "POST https://bedrock-mantle.us-east-1.api.aws/v1/responses": "bedrock openai.responses chat",
  "POST https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages": "bedrock anthropic.messages chat",
  "POST https://s3.us-east-1.amazonaws.com/model/m/invoke": "not_provider",
  "POST https://acme.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21":
    "azure openai.chat chat my gpt",
  "POST https://acme.openai.azure.com/openai/deployments/d/embeddings": "azure openai.embeddings embedding d",
  "POST https://acme.openai.azure.com/openai/v1/responses": "azure openai.responses chat",
  "POST https://acme.openai.azure.com/openai/responses?api-version=x": "azure openai.responses chat",
  "GET https://acme.openai.azure.com/openai/realtime?deployment=d":
    "azure openai.realtime chat true webSocket",
  "GET https://acme.openai.azure.com/openai/models": "azure free",
  "POST https://acme.services.ai.azure.com/anthropic/v1/messages": "azure anthropic.messages chat",
  "POST https://acme.services.ai.azure.com/models/chat/completions": "azure openai.chat chat",
  "POST https://acme.services.ai.azure.com/providers/mistral/azure/ocr": "azure mistral.ocr other false",
  "POST https://acme.services.ai.azure.com/providers/other/magic": "azure unknown_path",
  "POST https://acme.services.ai.azure.com/providers/cohere/v2/rerank": "azure cohere.rerank other false",
  "POST https://acme.services.ai.azure.com/providers/cohere/v2/chat": "azure cohere.chat chat",
  "POST https://acme.services.ai.azure.com/api/projects/p/threads/t1/runs?api-version=v1":
    "azure openai.runs chat",
  "POST https://acme.cognitiveservices.azure.com/speechtotext/v3.2/transcriptions":
    "azure other_units other false",
  "GET https://acme.cognitiveservices.azure.com/speechtotext/v3.2/transcriptions": "azure free",
  "POST https://acme.services.ai.azure.com/api/projects/p/openai/v1/responses": "azure openai.responses chat",
  "GET https://acme.services.ai.azure.com/api/projects/p/deployments": "azure free",
  "POST https://acme.services.ai.azure.com/api/projects/p/magic": "azure unknown_path",
  "GET https://acme.services.ai.azure.com/voice-live/realtime?model=gpt-realtime":
    "azure openai.realtime chat true webSocket",
  "GET https://acme.cognitiveservices.azure.com/magic": "azure unknown_path",
  "POST https://acme.openai.azure.com/openai/deployments/d/magic": "azure unknown_path",
  "POST https://openai.azure.com/openai/v1/responses": "not_provider",
  "POST https://api.openai.com.evil.test/v1/chat/completions": "not_provider",
  "POST https://xapi.openai.com/v1/chat/completions": "not_provider",
  "POST https://.api.openai.com/v1/chat/completions": "not_provider",
  "POST https://api.openai.com:8443/v1/chat/completions": "not_provider",
};

describe("createRegistry()", () => {
  for (const [request, expected] of Object.entries(table))
    it(`matches ${request}`, () => {
      if (request.includes("//.api")) {
        assert.equal(
          spell(
            registry.match({ host: ".api.openai.com", port: 443, method: "POST", path: "/v1/responses" }),
          ),
          expected,
        );
        return;
      }
      assert.equal(matchUrl(request), expected);
    });

  it("matches a call again as it did before, even after many others", () => {
    const registry = createRegistry();
    const match = (path: string, host = "api.anthropic.com") =>
      registry.match({ host, port: 443, method: "POST", path });
    const first = match("/v1/messages");
    assert.equal(match("/v1/messages"), first);
    for (let index = 0; index < 200; index += 1) assert.equal(match(`/v2/${index}`).kind, "unknown_path");
    assert.deepEqual(match("/v1/messages"), first);
    for (let index = 0; index < 200; index += 1)
      assert.equal(match("/v1/messages", `h${index}.example`).kind, "not_provider");
    assert.deepEqual(match("/v1/messages"), first);
    const long = `/${"v".repeat(400)}`;
    assert.notEqual(match(long), match(long));
  });

  it("matches hosts in any case and spelling", () => {
    assert.equal(registry.isProviderHost("API.OPENAI.COM.", 443), true);
    assert.equal(registry.isProviderHost("[::1]", 11434), true);
    assert.equal(registry.isProviderHost("api.openai.com", 80), false);
    assert.equal(registry.isProviderHost("example.com", 443), false);
  });

  it("ignores a fragment, and a query without its own path", () => {
    assert.equal(
      spell(registry.match({ host: "openrouter.ai", port: 443, method: "GET", path: "/?a" })),
      "openrouter free",
    );
    assert.equal(
      spell(registry.match({ host: "api.openai.com", port: 443, method: "POST", path: "/v1/embeddings#x" })),
      "openai openai.embeddings embedding",
    );
  });

  it("matches the operator's hosts on any port or one port, by name or suffix", () => {
    const own = createRegistry([
      { host: "llm.corp.test", provider: "litellm", api: "openai" },
      { host: "*.models.corp.test", port: 8443, provider: "corp", api: "anthropic" },
      { host: "gpu-box", port: 11434, provider: "ollama", api: "ollama" },
      { host: "g.corp.test", provider: "corp", api: "gemini" },
      { host: "api.openai.com", port: 443, provider: "wrapped", api: "openai" },
    ]);
    assert.equal(matchUrl("POST https://llm.corp.test/v1/chat/completions", own), "litellm openai.chat chat");
    assert.equal(
      matchUrl("POST http://llm.corp.test:4000/team/a/v1/chat/completions", own),
      "litellm openai.chat chat",
    );
    assert.equal(
      matchUrl("POST http://llm.corp.test:4000/chat/completions", own),
      "litellm openai.chat chat",
    );
    assert.equal(matchUrl("POST https://llm.corp.test/nothing", own), "litellm unknown_path");
    assert.equal(
      matchUrl("POST https://a.models.corp.test:8443/v1/messages", own),
      "corp anthropic.messages chat",
    );
    assert.equal(matchUrl("POST https://a.models.corp.test/v1/messages", own), "not_provider");
    assert.equal(matchUrl("POST http://gpu-box:11434/api/chat", own), "ollama ollama.chat chat free");
    assert.equal(
      matchUrl("POST https://g.corp.test/v1beta/models/m:generateContent", own),
      "corp gemini.generate chat m false",
    );
    assert.equal(
      matchUrl(
        "GET https://g.corp.test/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
        own,
      ),
      "corp gemini.live chat true webSocket",
    );
    assert.equal(
      matchUrl("POST https://api.openai.com/v1/embeddings", own),
      "wrapped openai.embeddings embedding",
    );
    assert.deepEqual(own.hosts.slice(-4), ["llm.corp.test", "*.models.corp.test", "gpu-box", "g.corp.test"]);
  });

  it("matches several APIs at an operator's host, below its base path only", () => {
    const own = createRegistry([
      {
        host: "gate.corp.test",
        provider: "corp",
        api: ["openai", "anthropic", "gemini", "model-serving"],
        basePath: "/llm/",
      },
      { host: "gate.corp.test", provider: "other", api: "openai", basePath: "/other" },
    ]);
    for (const [request, expected] of Object.entries({
      "POST https://gate.corp.test/llm/v1/chat/completions": "corp openai.chat chat",
      "POST https://gate.corp.test/llm/chat/completions": "corp openai.chat chat",
      "POST https://gate.corp.test/llm/team/x/chat/completions": "corp openai.chat chat",
      "POST https://gate.corp.test/llm/v1/messages": "corp anthropic.messages chat",
      "POST https://gate.corp.test/llm/anthropic/messages": "corp anthropic.messages chat",
      "POST https://gate.corp.test/llm/v1beta/models/m:generateContent": "corp gemini.generate chat m false",
      "POST https://gate.corp.test/llm/serving-endpoints/e/invocations": "corp openai.served chat e",
      "POST https://gate.corp.test/llm/zz": "corp unknown_path",
      "POST https://gate.corp.test/other/v1/embeddings": "other openai.embeddings embedding",
      "POST https://gate.corp.test/llmx/v1/chat/completions": "not_provider",
      "GET https://gate.corp.test/wiki": "not_provider",
    }))
      assert.equal(matchUrl(request, own), expected, request);
  });

  it("matches every dialect at an operator's host", () => {
    const hosts = ["code-assist", "vertex", "bedrock", "azure", "cohere"] as const;
    const own = createRegistry(hosts.map((api) => ({ host: `${api}.corp.test`, provider: "corp", api })));
    for (const [request, expected] of Object.entries({
      "POST https://code-assist.corp.test/x/v1internal:generateContent": "corp gemini.code_assist chat false",
      "POST https://vertex.corp.test/v1/projects/p/locations/l/publishers/google/models/m:generateContent":
        "corp gemini.generate chat m false",
      "GET https://vertex.corp.test/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent":
        "corp gemini.live chat true webSocket",
      "POST https://bedrock.corp.test/team/model/m/converse": "corp bedrock.converse chat m false",
      "POST https://azure.corp.test/openai/deployments/d/chat/completions": "corp openai.chat chat d",
      "POST https://cohere.corp.test/v2/rerank": "corp cohere.rerank other false",
    }))
      assert.equal(matchUrl(request, own), expected);
  });

  it("adds the operator's deployments to Azure routes only", () => {
    const own = createRegistry([{ host: "gate.corp.test", provider: "corp", api: "azure" }], {
      deployments: { d: "gpt-5" },
    });
    const deployments = (host: string, path: string) => {
      const route = own.match({ host, port: 443, method: "POST", path });
      return route.kind === "metered" ? route.deployments?.get("d") : route.kind;
    };
    assert.equal(deployments("a.openai.azure.com", "/openai/v1/responses"), "gpt-5");
    assert.equal(deployments("gate.corp.test", "/openai/v1/responses"), "gpt-5");
    assert.equal(deployments("api.openai.com", "/v1/responses"), undefined);
  });

  it("names every host that it matches, so that the local CA may sign for it and for nothing above it", () => {
    for (const host of registry.hosts) {
      assert.match(host, /^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$/);
      // A name constraint permits the name and everything below it. Parents shared by a cloud's customers must not be included.
      assert.ok(host.replace("*.", "").split(".").length >= (isSmallDomain.has(host) ? 2 : 3), host);
    }
    for (const parent of [
      "googleapis.com",
      "amazonaws.com",
      "us-east-1.amazonaws.com",
      "azure.com",
      "api.aws",
      "aliyuncs.com",
      "maas.aliyuncs.com",
      "cloudflare.com",
      "oraclecloud.com",
      "cloud.ibm.com",
      "databricks.com",
    ])
      assert.ok(!registry.hosts.some((host) => host.replace("*.", "") === parent));
    const tls = registry.hostPatterns.filter((pattern) => pattern.endsWith(":443"));
    assert.deepEqual(new Set(tls.map((pattern) => pattern.slice(0, -4))), new Set(registry.hosts));
  });

  it("lists each TLS host once and no loopback one", () => {
    assert.equal(new Set(registry.hosts).size, registry.hosts.length);
    assert.ok(registry.hosts.includes("api.anthropic.com") && registry.hosts.includes("*.api.openai.com"));
    assert.ok(!registry.hosts.includes("localhost"));
  });

  it("reads the own paths of LM Studio and llama.cpp on any port, for free", () => {
    const own = createRegistry([
      { host: "gpu-box", port: 9000, provider: "studio", api: "lmstudio" },
      { host: "gpu-box", port: 9001, provider: "llama", api: "llama-cpp", basePath: "/llm" },
      { host: "gpu-box", port: 9002, provider: "both", api: ["llama-cpp", "gemini"] },
    ]);
    const read = (port: number, path: string) => {
      const match = own.match({ host: "gpu-box", port, method: "POST", path });
      return match.kind === "metered" ? [match.api, match.billing ?? null] : match.kind;
    };
    assert.deepEqual(read(9000, "/api/v1/chat"), ["lmstudio.chat", "free"]);
    assert.deepEqual(read(9000, "/v1/chat/completions"), ["openai.chat", "free"]);
    assert.deepEqual(read(9001, "/llm/completion"), ["llama.completion", "free"]);
    assert.deepEqual(read(9001, "/llm/completions"), ["llama.completion", "free"]);
    assert.deepEqual(read(9001, "/llm/v1/completions"), ["openai.completions", "free"]);
    assert.deepEqual(read(9001, "/llm/v1/messages"), ["anthropic.messages", "free"]);
    assert.equal(read(9001, "/completion"), "not_provider");
    assert.deepEqual(read(9002, "/infill"), ["llama.completion", null]);
  });

  it("lists the plain hosts, without those that the operator configured", () => {
    assert.ok(registry.plainHostPatterns.includes("localhost:11434"));
    assert.ok(registry.plainHostPatterns.includes("[::1]:8000"));
    assert.ok(!registry.plainHostPatterns.some((pattern) => pattern.endsWith(":443")));
    const own = createRegistry([{ host: "localhost", port: 8000, provider: "own", api: "openai" }]);
    assert.ok(!own.plainHostPatterns.includes("localhost:8000"));
    assert.ok(own.plainHostPatterns.includes("127.0.0.1:8000"));
  });

  it("maps gateway prefixes to provider origins", () => {
    assert.deepEqual(
      [...registry.gatewayPrefixes]
        .slice(0, 18)
        .map(
          ([prefix, { scheme, host, port, basePath }]) => `/${prefix} ${scheme}://${host}:${port}${basePath}`,
        ),
      [
        "/anthropic https://api.anthropic.com:443",
        "/openai https://api.openai.com:443",
        "/gemini https://generativelanguage.googleapis.com:443",
        "/xai https://api.x.ai:443",
        "/openrouter https://openrouter.ai:443",
        "/ollama http://localhost:11434",
        "/ollama-cloud https://ollama.com:443",
        "/groq https://api.groq.com:443",
        "/mistral https://api.mistral.ai:443",
        "/deepseek https://api.deepseek.com:443",
        "/together https://api.together.xyz:443",
        "/fireworks https://api.fireworks.ai:443",
        "/perplexity https://api.perplexity.ai:443",
        "/cerebras https://api.cerebras.ai:443",
        "/cohere https://api.cohere.ai:443",
        "/codex https://chatgpt.com:443",
        "/code-assist https://cloudcode-pa.googleapis.com:443",
        "/vertex https://aiplatform.googleapis.com:443",
      ],
    );
    assert.equal(registry.gatewayPrefixes.get("github-copilot")?.host, "api.githubcopilot.com");
    assert.equal(registry.gatewayPrefixes.get("lmstudio")?.port, 1234);
    for (const { host, port } of registry.gatewayPrefixes.values())
      assert.ok(registry.isProviderHost(host, port));
  });
});
