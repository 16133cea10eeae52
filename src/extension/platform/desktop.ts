/** Whether this runs in Node.js: in a browser an extension is a web worker, without processes and disks. */
export function isDesktop(): boolean {
  return 'process' in globalThis;
}
