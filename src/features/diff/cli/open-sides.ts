import { usage } from '../../../cli/command';
import { sentence } from '../../../core/sentence';
import { mergeBase } from './git-tree';
import { openSide, revisionSide, type RevisionRange, type Side } from './sides';

/** Two states of the same configs. */
export interface Sides {
  readonly base: Side;
  readonly head: Side;
}

/**
 * The sides that a command line names: BASE and HEAD, or each path in two revisions.
 * @throws ExpectedError as `openSide` and `mergeBase`; `usage`.
 */
export async function openSides(paths: readonly string[], range: RevisionRange | null, signal: AbortSignal): Promise<Sides[]> {
  if (range === null) {
    const [base, head] = await Promise.all(paths.map((name) => openSide(name, signal)));
    if (base === undefined || base.isFile !== head?.isFile)
      throw usage(sentence`One of the two is a file and the other a folder`, sentence`name two files or two folders`);
    return [{ base, head }];
  }
  const { base, head, sinceParted } = range;
  const from = sinceParted ? await mergeBase(base, head, signal) : base;
  return Promise.all(
    paths.map(async (inside) => {
      const [before, after] = await Promise.all([from, head].map((revision) => revisionSide(revision, inside, signal)));
      return { base: before, head: after } as Sides;
    }),
  );
}
