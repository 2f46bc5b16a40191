import { AWS_REGIONS, OCI_REGIONS, WATSONX_HOSTS } from "./cloud-regions.ts";
import { anthropic, OPENAI_ANYWHERE, openai, overTls, type Provider } from "./provider.ts";

const runsClaude = (region: string) => !region.startsWith("us-gov-");

/**
 * Smaller AI services of the clouds. A service whose hosts also carry other data, such as a Databricks workspace or a Snowflake
 * account, is left out: database clients refuse an unknown certificate authority. An operator adds it by name.
 *
 * Sources, read 2026-11-23: learn.microsoft.com, "Deploy models as serverless API deployments"; docs.aws.amazon.com/claude-platform,
 * "Making requests", and /sagemaker, "InvokeEndpoint"; cloud.ibm.com/apidocs/watsonx-ai, "Endpoint URLs"; docs.oracle.com, "Generative AI
 * Service Inference API", "OCI OpenAI-Compatible Endpoints".
 */
export const CLOUD_AI_PROVIDERS: readonly Provider[] = [
  // Models of Azure AI Foundry, each with a host of its own.
  overTls(
    "azure",
    ["*.models.ai.azure.com", "*.inference.ai.azure.com"],
    [
      anthropic(/^(\/anthropic)?\/v1(?=\/messages)/),
      openai(/^(\/openai)?(\/v1)?(?=\/)/),
      ["cohere", /^(?=\/v[12]\/)/],
    ],
  ),
  overTls(
    "anthropic-aws",
    AWS_REGIONS.filter(runsClaude).map((region) => `aws-external-anthropic.${region}.api.aws`),
    [anthropic(/^\/v1(?=\/)/)],
  ),
  overTls(
    "sagemaker",
    AWS_REGIONS.map((region) => `runtime.sagemaker.${region}.amazonaws.com`),
    [["model-serving", /^(?=\/)/], openai(OPENAI_ANYWHERE)],
    // Endpoints of models of any kind.
    { shared: true },
  ),
  overTls("watsonx", WATSONX_HOSTS, [["watsonx", /^\/ml\/v1(?=\/)/], openai(/^\/ml\/gateway\/v1(?=\/)/)]),
  overTls(
    "oci",
    OCI_REGIONS.map((region) => `inference.generativeai.${region}.oci.oraclecloud.com`),
    [["oci", /^\/\d{8}\/actions(?=\/)/], openai(/^(\/\d{8}\/actions|\/openai|\/\d{8}\/openai)\/v1(?=\/)/)],
  ),
];
