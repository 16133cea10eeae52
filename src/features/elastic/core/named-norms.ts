import type { ReadReferenced, Run } from '../../../core/run/run';
import { ExpectedError } from '../../../core/errors';
import { readGradientNorms } from './gradient-norms';
import type { NormTable } from './norm-table';

/**
 * The log of gradient norms that a run freezes by, several files as one; null when it freezes by none.
 * @throws ExpectedError as `readGradientNorms`, and as `read`, then placed where the log is named.
 */
export async function readNamedNorms({ file, elastic }: Run, read: ReadReferenced): Promise<NormTable | null> {
  const named = elastic?.gradientNorms;
  if (named === undefined || (elastic?.freezing !== undefined && !['gradients', 'changes'].includes(elastic.freezing.value))) return null;
  const tables: NormTable[] = [];
  for (const path of typeof named.value === 'string' ? [named.value] : named.value) {
    const log = await read(file, path).catch((error: unknown) => {
      if (!(error instanceof ExpectedError) || named.source.kind !== 'file') throw error;
      throw new ExpectedError(error.code, error.what, error.remedy, named.source.place);
    });
    tables.push(readGradientNorms(log.text, log.file));
  }
  const [first] = tables;
  if (first === undefined) return null;
  return {
    ...first,
    norms: new Map(tables.flatMap(({ norms }) => [...norms])),
    places: new Map(tables.toReversed().flatMap(({ places }) => [...places])),
  };
}
