import { diskFaults } from "../chaos/faults/disk-faults.ts";
import { testQuickFaults } from "../chaos/faults/test-quick-faults.ts";

testQuickFaults("disk", diskFaults);
