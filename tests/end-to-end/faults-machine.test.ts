import { machineFaults } from "../chaos/faults/machine-faults.ts";
import { testQuickFaults } from "../chaos/faults/test-quick-faults.ts";

testQuickFaults("machine", machineFaults);
