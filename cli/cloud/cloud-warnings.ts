/**
 * Whether a configuration warning is about the cloud settings, redaction, or the file itself. Changes to these take effect
 * without a restart, so their warnings do too.
 */
export const isAboutCloud = (warning: string): boolean => /^(?:cloud|redaction|config\.toml)\b/.test(warning);
