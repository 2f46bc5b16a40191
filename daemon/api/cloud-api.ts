import { Hono } from "hono";
import type { Millis } from "../../core/values/time.ts";
import { type BannerContext, describeBanner } from "../cloud/cloud-banner.ts";
import type { CloudService } from "../cloud/cloud-service.ts";
import type { Store } from "../store/port/store.ts";
import type { ApiPorts } from "./api-ports.ts";
import { type CloudRoutesOptions, createCloudRoutes } from "./cloud-routes.ts";
import { problem } from "./problem.ts";

/** Options of `createCloudApi()`. */
interface CloudApiOptions extends CloudRoutesOptions {
  readonly store: Pick<Store, "trouble">;
  bannerContext(): BannerContext;
  now(): Millis;
}

/** Creates the routes below `/v1/cloud`, which return 503 while the database can't be used, and the banner. */
export function createCloudApi(
  service: CloudService,
  options: CloudApiOptions,
): NonNullable<ApiPorts["cloud"]> {
  const { store } = options;
  const routes = new Hono();
  // Changes made now would be lost, including a pause.
  routes.use(async (context, next) => {
    if (store.trouble !== null) return problem(context, 503, "store_unavailable", store.trouble.message);
    await next();
    return undefined;
  });
  routes.route("/", createCloudRoutes(service, options));
  return {
    routes,
    banner: async () => describeBanner(await service.state(), options.bannerContext(), options.now()),
  };
}
