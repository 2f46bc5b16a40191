import { Hono } from "hono";
import type { Millis } from "../../core/time.ts";
import { type BannerSurroundings, bannerOf, type CloudService } from "../cloud/mod.ts";
import type { Store } from "../store/mod.ts";
import type { ApiPorts } from "./api-ports.ts";
import { type CloudRoutesOptions, createCloudRoutes } from "./cloud-routes.ts";
import { problem } from "./problem.ts";

/** What the part needs beside the service. */
export interface CloudPartOptions extends CloudRoutesOptions {
  readonly store: Pick<Store, "trouble">;
  surroundings(): BannerSurroundings;
  now(): Millis;
}

/** What the API serves of the cloud: its routes, closed while the database can't be used, and how it stands. */
export function createCloudPart(
  service: CloudService,
  options: CloudPartOptions,
): NonNullable<ApiPorts["cloud"]> {
  const { store } = options;
  const routes = new Hono();
  // What would be changed now would be forgotten, a pause among it.
  routes.use(async (context, next) => {
    if (store.trouble !== null) return problem(context, 503, "store_unavailable", store.trouble.message);
    await next();
    return undefined;
  });
  routes.route("/", createCloudRoutes(service, options));
  return {
    routes,
    banner: async () => bannerOf(await service.state(), options.surroundings(), options.now()),
  };
}
