import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # frames.py, shared by these tests
