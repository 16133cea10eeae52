import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { standardInput } from '../read-file';

/** A path with slashes, relative to `folder` where it lies in it. */
export function relativeFile(file: string, folder: string): string {
  if (file === standardInput || file === '') return file;
  const relative = path.relative(folder, path.resolve(folder, file));
  const isInside = relative !== '' && !relative.startsWith('..') && !path.isAbsolute(relative);
  return (isInside ? relative : path.resolve(folder, file)).split(path.sep).join('/');
}

/** The same as a URI reference: relative, or `file:` where it lies elsewhere. */
export function fileUri(file: string, folder: string): string {
  const relative = relativeFile(file, folder);
  if (relative !== '' && path.isAbsolute(relative)) return pathToFileURL(relative).href;
  return relative.split('/').map(encodeURIComponent).join('/');
}
