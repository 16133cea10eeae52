import type { LauncherFile } from '../../run/facts';
import { launcherTraits } from '../../launchers/registry';
import type { Finding } from '../../findings';
import type { Place } from '../../domain/located';
import { readScheduleCsv } from '../../schedules/pytorch-csv/read';
import { quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { microBatchesPerReplica } from '../../launchers/layout-sizes';
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
 *
 * @finding tt-schedule-csv
 * The schedule that `pipeline_parallel_schedule_csv` names has a row for each pipeline rank and an action in each cell: a stage, one of F,
 * B, I and W, and a micro-batch (`2F0`). TorchTitan loads it as `compute_only`, so sends and receives are left out, onto stages that are
 * assigned to ranks in turn (stage 5 of 4 ranks on rank 1). The check is stricter than PyTorch, which runs `0F0xyz` as `0F0`. The finding
 * is at each cell that is not an action, runs twice, lacks its backward, is on another rank than its stage, comes before what it needs or
 * waits for a rank that waits for it.
 * @example `pipeline_parallel_schedule_csv = "schedule.csv"` without that file. "The schedule "schedule.csv" does not exist"
 * @source PyTorch, `torch/distributed/pipelining/schedules.py`, `_load_csv`, `_validate_schedule` and `_simulate_comms_compute`.
 * @ignore the file is for another format than TorchTitan loads.
 */
export function scheduleCsvFindings(launcher: LauncherFile, csv: CsvFile | null): Finding[] {
  const fact = launcher.facts.scheduleCsv;
  if (fact === undefined || launcherTraits(launcher.format).runtime !== 'torchtitan') return [];
  const place = fact.source.kind === 'file' ? fact.source.place : launcher.place;
  if (csv === null)
    return [finding(place, sentence`The schedule ${quoted(fact.value)} does not exist`, sentence`create the file, or correct the path`)];
  const { facts, format } = launcher;
  const counts = { ranks: countOf(facts, 'pipeline'), microBatches: microBatchesPerReplica(facts, format) };
  const wanted = { ...counts, format: 'compute_only', placement: 'loop' } as const;
  const { problems } = readScheduleCsv(csv.text, csv.file, wanted);
  return problems.map(({ code, range, message, remedy }) =>
    finding(code === 'ranks' || code === 'micro-batches' ? place : { file: csv.file, range }, message, remedy),
  );
}

function finding(place: Place, message: Sentence, remedy: Sentence): Finding {
  return { code: 'tt-schedule-csv', severity: 'error', place, message, remedy, fixes: [] };
}
