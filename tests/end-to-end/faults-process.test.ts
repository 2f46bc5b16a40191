import { processFaults } from "../chaos/faults/process-faults.ts";
import { testQuickFaults } from "../chaos/faults/test-quick-faults.ts";

testQuickFaults("process", processFaults);
