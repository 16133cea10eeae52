import type { Run } from '../../../core/formats/run';

/** What engines call the model of a run: the folder of its config.json; without one, the file that describes it. */
export function servedModel({ file, files }: Pick<Run, 'file' | 'files'>): string {
  const config = files.find((each) => /(?:^|[/\\])config\.json$/u.test(each));
  return config === undefined ? file : config.replace(/[/\\]?config\.json$/u, '') || '.';
}
