/**
 * Whether this runs in Node.js: in a browser an extension is a web worker, without processes and disks. `esbuild.mjs` decides it: in the
 * script for browsers the platform is `web`, whatever `process` another extension of the same worker has put there.
 */
export function isDesktop(): boolean {
  return (process.platform as string) !== 'web';
}
