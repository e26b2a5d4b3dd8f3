// For TypeScript, which checks imports without names.
export {};
