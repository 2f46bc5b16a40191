import { CLOUD_CONFIG_DEFAULTS, type CloudConfig } from "../config.ts";

/** Whether the server sells plans. One that still has the placeholder wording does not. */
export const sellsPlans = ({ checkoutWording }: CloudConfig): boolean =>
  checkoutWording !== CLOUD_CONFIG_DEFAULTS.checkoutWording;
