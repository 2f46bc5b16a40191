/** Whether a warning of the configuration is about what leaves the machine: that holds as soon as the file says it. */
export const isAboutCloud = (warning: string): boolean => /^(?:cloud|redaction)\b/.test(warning);
