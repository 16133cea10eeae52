import type { ReadReferenced, Run } from '../formats/run';
import { ExpectedError } from '../errors';
import { readGradientNorms } from './gradient-norms';
import type { NormTable } from './norm-table';

/**
 * The log of gradient norms that a run freezes by; null when it freezes by none.
 * @throws ExpectedError as `readGradientNorms`, and as `read`, then placed where the log is named.
 */
export async function readNamedNorms({ file, elastic }: Run, read: ReadReferenced): Promise<NormTable | null> {
  const named = elastic?.gradientNorms;
  if (named === undefined || (elastic?.freezing !== undefined && elastic.freezing.value !== 'gradients')) return null;
  const log = await read(file, named.value).catch((error: unknown) => {
    if (!(error instanceof ExpectedError) || named.source.kind !== 'file') throw error;
    throw new ExpectedError(error.code, error.what, error.remedy, named.source.place);
  });
  return readGradientNorms(log.text, log.file);
}
