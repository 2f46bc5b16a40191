/**
 * The regions of clouds whose host names contain the region. They are listed individually instead of matched by a pattern,
 * because name constraints of the local CA (RFC 5280, section 4.2.1.10) apply to whole labels: a pattern such as
 * `*-aiplatform.googleapis.com` would require a CA that may sign for all of `googleapis.com`. With the list, the CA may sign
 * for exactly the intercepted hosts. A region that is added later is tunnelled until it is listed here or in the operator's
 * own list of hosts.
 */

/** Source: https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html, and GovCloud; 2026-11-21. */
export const AWS_REGIONS: readonly string[] = [
  "us-east-1",
  "us-east-2",
  "us-west-1",
  "us-west-2",
  "us-gov-east-1",
  "us-gov-west-1",
  "ca-central-1",
  "ca-west-1",
  "mx-central-1",
  "sa-east-1",
  "eu-central-1",
  "eu-central-2",
  "eu-north-1",
  "eu-south-1",
  "eu-south-2",
  "eu-west-1",
  "eu-west-2",
  "eu-west-3",
  "af-south-1",
  "il-central-1",
  "me-central-1",
  "me-south-1",
  "ap-east-1",
  "ap-east-2",
  "ap-northeast-1",
  "ap-northeast-2",
  "ap-northeast-3",
  "ap-south-1",
  "ap-south-2",
  "ap-southeast-1",
  "ap-southeast-2",
  "ap-southeast-3",
  "ap-southeast-4",
  "ap-southeast-5",
  "ap-southeast-6",
  "ap-southeast-7",
];

/** Source: https://docs.aws.amazon.com/general/latest/gr/bedrock.html; 2026-11-21. */
export const BEDROCK_FIPS_REGIONS: readonly string[] = [
  "us-east-1",
  "us-east-2",
  "us-west-2",
  "us-gov-east-1",
  "us-gov-west-1",
  "ca-central-1",
];

/** Source: https://docs.cloud.google.com/vertex-ai/docs/general/locations; 2026-11-21. */
export const VERTEX_LOCATIONS: readonly string[] = [
  "us-central1",
  "us-east1",
  "us-east4",
  "us-east5",
  "us-south1",
  "us-west1",
  "us-west2",
  "us-west3",
  "us-west4",
  "northamerica-northeast1",
  "northamerica-northeast2",
  "southamerica-east1",
  "southamerica-west1",
  "europe-central2",
  "europe-north1",
  "europe-southwest1",
  "europe-west1",
  "europe-west2",
  "europe-west3",
  "europe-west4",
  "europe-west6",
  "europe-west8",
  "europe-west9",
  "europe-west12",
  "africa-south1",
  "me-central1",
  "me-central2",
  "me-west1",
  "asia-east1",
  "asia-east2",
  "asia-northeast1",
  "asia-northeast2",
  "asia-northeast3",
  "asia-south1",
  "asia-south2",
  "asia-southeast1",
  "asia-southeast2",
  "australia-southeast1",
  "australia-southeast2",
];

/** Multi-regions, as in `aiplatform.us.rep.googleapis.com`; same source. */
export const VERTEX_MULTI_REGIONS: readonly string[] = ["us", "eu"];

/** Hosts of watsonx.ai. Source: https://cloud.ibm.com/apidocs/watsonx-ai, "Endpoint URLs"; 2026-11-23. */
export const WATSONX_HOSTS: readonly string[] = [
  "us-south.ml.cloud.ibm.com",
  "eu-de.ml.cloud.ibm.com",
  "eu-gb.ml.cloud.ibm.com",
  "jp-tok.ml.cloud.ibm.com",
  "au-syd.ml.cloud.ibm.com",
  "ca-tor.ml.cloud.ibm.com",
  "ap-south-1.aws.wxai.ibm.com",
];

/** Regions of OCI Generative AI. Source: https://docs.oracle.com/en-us/iaas/Content/generative-ai/regions.htm; 2026-11-23. */
export const OCI_REGIONS: readonly string[] = [
  "us-chicago-1",
  "us-ashburn-1",
  "us-phoenix-1",
  "sa-saopaulo-1",
  "eu-frankfurt-1",
  "uk-london-1",
  "ap-osaka-1",
  "ap-hyderabad-1",
  "me-abudhabi-1",
  "me-dubai-1",
  "me-riyadh-1",
];
