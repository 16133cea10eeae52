import type { LauncherFile } from '../../run/facts';
import { launcherTraitsOf } from '../../launchers/registry';
import type { Finding } from '../../findings';
import type { Place } from '../../domain/located';
import { readScheduleCsv } from '../../schedules/pytorch-csv/read';
import { quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { microBatchesOf } from '../../launchers/layout-sizes';
import { sentence, type Sentence } from '../../sentence';

/** The file that `pipeline_parallel_schedule_csv` names, as a face read it. */
interface CsvFile {
  readonly file: string;
  readonly text: string;
}

/**
 * What is wrong with the custom schedule of a TorchTitan run: the file is missing (`csv` null), has another number of rows or micro-batches
 * than the run, or cannot run, at the cells that are to blame (`readScheduleCsv`). TorchTitan loads schedules without communication, onto
 * stages that it assigned to ranks round-robin.
 */
export function scheduleCsvFindings(launcher: LauncherFile, csv: CsvFile | null): Finding[] {
  const fact = launcher.facts.scheduleCsv;
  if (fact === undefined || launcherTraitsOf(launcher.format).runtime !== 'torchtitan') return [];
  const place = fact.source.kind === 'file' ? fact.source.place : launcher.place;
  if (csv === null)
    return [finding(place, sentence`The schedule ${quoted(fact.value)} does not exist`, sentence`create the file, or correct the path`)];
  const { facts, format } = launcher;
  const counts = { ranks: countOf(facts, 'pipeline'), microBatches: microBatchesOf(facts, format) };
  const wanted = { ...counts, format: 'compute_only', placement: 'loop' } as const;
  const { problems } = readScheduleCsv(csv.text, csv.file, wanted);
  return problems.map(({ code, range, message, remedy }) =>
    finding(code === 'ranks' || code === 'micro-batches' ? place : { file: csv.file, range }, message, remedy),
  );
}

function finding(place: Place, message: Sentence, remedy: Sentence): Finding {
  return { code: 'tt-schedule-csv', severity: 'error', place, message, remedy, fixes: [] };
}
