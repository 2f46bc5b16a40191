// What every runtime has and `lib: ["es2024"]` lacks. Only `tsconfig.core.json` reads this file.
declare function atob(base64: string): string;
declare function btoa(binary: string): string;
declare class TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  decode(bytes?: Uint8Array, options?: { stream?: boolean }): string;
}
