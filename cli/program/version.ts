/** The version of the package; a test holds it against `package.json`. */
export const version = "0.4.0";
