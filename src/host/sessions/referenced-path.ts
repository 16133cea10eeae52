/** The parts of a URI that a path is resolved against. */
interface BaseUri {
  readonly scheme: string;
  readonly authority: string;
}

/** A path inside a file: relative to the folder of that file, or absolute on its file system. Both with slashes. */
type ReferencedPath = { readonly relative: string } | { readonly absolute: string };

/**
 * What a path that a file names means where the file lies, whichever system it was written on. Null for one that leads elsewhere: a URI, or
 * another machine (`\\server\share\x`), which would learn who asks; the share that the file itself lies on is none. Null too for one with a
 * NUL, which no system takes.
 */
export function referencedPath({ scheme, authority }: BaseUri, name: string): ReferencedPath | null {
  if (name.includes('\0')) return null;
  const path = scheme === 'file' ? name.replaceAll('\\', '/') : name;
  const share = /^\/\/([^/]+)(\/.*)$/.exec(path);
  if (share !== null) {
    const [, server = '', rest = ''] = share;
    return scheme === 'file' && authority !== '' && server.toLowerCase() === authority.toLowerCase() ? { absolute: rest } : null;
  }
  if (/^(\\\\|\/\/|[a-z][a-z0-9+.-]+:\/)/i.test(path)) return null;
  if (/^[a-z]:[\\/]/i.test(name)) return { absolute: `/${name.replaceAll('\\', '/')}` };
  return path.startsWith('/') ? { absolute: path } : { relative: path };
}
